import fc from 'fast-check'
import { jsonSchema } from 'edgecall/tool'
import { expect, test } from 'vitest'
import { isObject, type JsonSchema } from '../../src/contract/json.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import {
  ANTHROPIC_DIALECT,
  COMPATIBLE_DIALECT,
  type ProviderDialect,
  GEMINI_DIALECT,
  GROQ_DIALECT,
  OPENAI_DIALECT,
} from '../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../src/wire/provider/fit-request.ts'
import { CLOCK } from './clock.ts'

const DIALECTS = [ANTHROPIC_DIALECT, OPENAI_DIALECT, COMPATIBLE_DIALECT, GROQ_DIALECT, GEMINI_DIALECT]

/** Names as services use them, names that look alike once they are replaced, and any text. */
const key = fc.oneof(
  fc.constantFrom(
    '$top',
    'top',
    'filter[name]',
    'filter_name',
    'Account Number',
    'a',
    'a b',
    'a_b',
    'a-b',
    '@type',
    'ß',
  ),
  fc.constantFrom('', '2fa', 'constructor', 'properties', 'required', '$ref', '/', '~', 'x'.repeat(70), 'x'.repeat(71)),
  fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__'),
)

/** A schema, and a value that fits it. */
interface Sample {
  readonly schema: JsonSchema
  readonly value: unknown
}

const leaf = fc.constantFrom<Sample>(
  { schema: { type: 'string', maxLength: 5 }, value: 'a"b:' },
  { schema: { type: 'integer', exclusiveMinimum: 0 }, value: 7 },
  { schema: { type: ['number', 'null'] }, value: null },
  { schema: { enum: ['', 'C', 2, null] }, value: '' },
  { schema: { const: true }, value: true },
  { schema: {}, value: { $top: [1] } },
  { schema: { type: 'array', maxItems: 600 }, value: [] },
  { schema: { $ref: '#/$defs/any key' }, value: { $skip: 1 } },
  { schema: { type: 'object', patternProperties: { '^x ': { type: 'number' } } }, value: { 'x y': 1 } },
)

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('sample'), { maxLength: 2 }).map((all) => ({
      schema: { type: 'array', items: { anyOf: [...all.map(({ schema }) => schema), { type: 'null' }] } },
      value: all.map(({ value }) => value),
    })),
    fc.array(tie('sample'), { minLength: 1, maxLength: 2 }).map(([first, second = first]) => ({
      schema: { anyOf: [first?.schema, second?.schema] },
      value: second?.value,
    })),
    objectOf(tie('sample')),
  ),
}))

function objectOf(part: fc.Arbitrary<Sample>): fc.Arbitrary<Sample> {
  const names = fc.dictionary(key, part, { maxKeys: 5 })
  return fc.record({ parts: names, isClosed: fc.boolean(), needs: fc.boolean(), other: key }).map((made) => {
    const { parts, isClosed, needs, other } = made
    const pick = (member: keyof Sample) =>
      Object.fromEntries(Object.entries(parts).map(([name, each]) => [name, each[member]]))
    return {
      schema: {
        type: 'object',
        properties: pick('schema'),
        ...(needs && { required: Object.keys(parts) }),
        ...(needs && other in parts && { dependentRequired: { [other]: Object.keys(parts) } }),
        ...(isClosed && { additionalProperties: false }),
      },
      value: pick('value'),
    }
  })
}

/** What is wrong with a schema at any place where a dialect has a rule, by a reading of its own of the rules. */
function faults(schema: unknown, dialect: ProviderDialect, path = ''): string[] {
  if (!isObject(schema)) return typeof schema === 'boolean' ? [] : [`${path}: no schema`]
  const properties = isObject(schema.properties) ? schema.properties : {}
  const { required, enum: values, type } = schema
  return [
    ...Object.keys(properties).flatMap((name) => (dialect.keys?.fits.test(name) === false ? [`${path}/${name}`] : [])),
    ...(path === '' ? dialect.refusedAtTop.filter((word) => word in schema) : []),
    ...(path === '' && type !== 'object' ? ['type'] : []),
    ...(dialect.needsProperties && Array.isArray(required) && !schema.properties ? [`${path}: no properties`] : []),
    ...([type].flat().includes('array') && !('items' in schema) ? [`${path}: no items`] : []),
    ...(dialect.keywords?.requiresNamed && Array.isArray(required)
      ? required.filter((name) => !Object.hasOwn(properties, String(name))).map((name) => `${path}: ${String(name)}`)
      : []),
    ...(dialect.keywords?.hasPlainEnums &&
    Array.isArray(values) &&
    values.some((value) => value === '' || value === null)
      ? [`${path}: enum`]
      : []),
    ...(dialect.keywords ? Object.keys(schema).filter((word) => !GEMINI_WORDS.has(word)) : []),
    ...Object.entries(properties).flatMap(([name, inner]) => faults(inner, dialect, `${path}/${name}`)),
    ...[schema.items, schema.additionalProperties].flatMap((inner) =>
      isObject(inner) ? faults(inner, dialect, `${path}/items`) : [],
    ),
    ...[schema.anyOf, schema.prefixItems].flatMap((list) =>
      Array.isArray(list) ? list.flatMap((inner, index) => faults(inner, dialect, `${path}/${index}`)) : [],
    ),
  ]
}

const GEMINI_WORDS = new Set(
  '$ref $defs type format title description enum items prefixItems minItems maxItems minimum maximum anyOf properties additionalProperties required'.split(
    ' ',
  ),
)

const SEED = Number(process.env['SEED'] ?? 50)

test('whatever the schema and its names, a provider gets what it takes, and the tool gets what it asked for', async () => {
  await fc.assert(
    fc.asyncProperty(objectOf(sample), async ({ schema, value }) => {
      const inputSchema = { ...schema, $defs: { 'any key': { type: 'object', properties: { $skip: {} } } } }
      const validate = jsonSchema(inputSchema)['~standard'].validate
      expect(await validate(value)).toEqual({ value })
      const args = JSON.stringify(value)
      const tool: ToolDefinition = { ...CLOCK, name: 'probe', inputSchema }
      const messages = [
        { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 'probe', arguments: args }] } as const,
      ]
      for (const dialect of DIALECTS) {
        const { request, answer } = fitRequest({ messages, tools: [tool] }, dialect)
        const [sent] = request.tools
        expect(faults(sent?.inputSchema, dialect)).toEqual([])
        // What the model would write: the call of the history, under the names that it was told.
        const [earlier] = request.messages
        const written = (earlier?.role === 'assistant' && earlier.calls?.[0]?.arguments) || ''
        async function* events(): AsyncGenerator<ModelEvent> {
          yield { type: 'call.delta', index: 0, tool: 'probe', arguments: written.slice(0, 3) }
          yield { type: 'call.delta', index: 0, arguments: written.slice(3) }
          yield { type: 'call', index: 0, tool: 'probe', arguments: written }
        }
        const received = await Array.fromAsync(answer(events()))
        const deltas = received.flatMap((event) => (event.type === 'call.delta' ? event.arguments : ''))
        expect(deltas.join('')).toBe(args)
        expect(received.at(-1)).toEqual({ type: 'call', index: 0, tool: 'probe', arguments: args })
        const own: unknown = JSON.parse(args)
        expect(await validate(own)).toEqual({ value: own })
      }
    }),
    { numRuns: 400, seed: SEED },
  )
})

test('whatever a schema is, the request has it as an object, or goes without the tool', () => {
  const anything = fc.jsonValue({ depthSize: 'medium' })
  const words = fc.constantFrom(
    ...'type properties required items enum const pattern $ref $defs anyOf oneOf allOf not additionalProperties'.split(
      ' ',
    ),
    ...'prefixItems dependentRequired patternProperties minLength exclusiveMinimum format description'.split(' '),
  )
  const { wild } = fc.letrec<{ wild: unknown }>((tie) => ({
    wild: fc.oneof({ depthSize: 'medium' }, anything, fc.dictionary(words, tie('wild'), { maxKeys: 4 })),
  }))
  fc.assert(
    fc.property(fc.dictionary(words, wild, { maxKeys: 6 }), fc.boolean(), (inputSchema, strict) => {
      for (const dialect of DIALECTS) {
        const { tools } = fitRequest(
          { messages: [], tools: [{ ...CLOCK, inputSchema, strict }, CLOCK] },
          dialect,
        ).request
        expect(tools.at(-1)).toMatchObject({ name: 'clock', inputSchema: CLOCK.inputSchema })
        for (const tool of tools.slice(0, -1)) expect(faults(tool.inputSchema, dialect)).toEqual([])
      }
    }),
    { numRuns: 400, seed: SEED },
  )
})
