import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import { coerce } from '../../src/schema/coerce.ts'
import { jsonSchema } from 'edgecall/tool'
import { misfits } from '../../src/schema/fit.ts'
import { unknownKeys, withKnownKeys } from '../../src/schema/issue.ts'
import { defineTool } from 'edgecall/tool'
import { CONTEXT } from '../fixtures/run-context.ts'

const leaf = fc.constantFrom<JsonSchema>(
  { type: 'string' },
  { type: 'number' },
  { type: 'integer' },
  { type: 'boolean' },
  { type: ['string', 'null'] },
  { enum: ['a', 'B', '1', 2] },
  { const: 'On' },
  {},
)

const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('schema').map((items) => ({ type: 'array', items })),
    fc
      .record({
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }),
        isClosed: fc.boolean(),
        isNeeded: fc.boolean(),
      })
      .map(({ properties, isClosed, isNeeded }) => ({
        type: 'object',
        properties,
        ...(isNeeded && { required: Object.keys(properties) }),
        ...(isClosed && { additionalProperties: false }),
      })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
  ),
}))

const value = fc.jsonValue({ depthSize: 'small', maxDepth: 3 })
const text = fc.constantFrom('5', ' 5.0 ', 'true', '[1]', '{"a":"5"}', 'on', 'b', '', 'null')
const { sent } = fc.letrec<{ sent: unknown }>((tie) => ({
  sent: fc.oneof(
    { depthSize: 'small' },
    value,
    text,
    fc.array(tie('sent'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'input'), tie('sent'), { maxKeys: 3 }),
  ),
}))

/** Texts in a value, each with where it is. */
function textsOf(value: unknown, at = ''): string[] {
  if (typeof value === 'string') return [`${at}=${value}`]
  return Object.entries(Object(value)).flatMap(([key, inner]) => textsOf(inner, `${at}/${key}`))
}

test('arguments that fit are passed on unchanged', async () => {
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'input'), sent, { maxKeys: 3 })
  await fc.assert(
    fc.asyncProperty(schema, object, async (field, value) => {
      const root = { type: 'object', properties: { a: field } }
      fc.pre(misfits(root, value).length === 0)
      // Arguments under other names are renamed, unwrapped or refused.
      fc.pre(withKnownKeys(root, value) === value && !unknownKeys(root, value))
      let got: unknown
      const tool = defineTool({ name: 'x', description: 'X.', input: jsonSchema(root), run: (it) => void (got = it) })
      expect(await tool.call(value, CONTEXT)).toMatchObject({ ok: true })
      expect(got).toBe(value)
    }),
  )
})

test('coercion is idempotent, and its result fits the type that it chose', () => {
  fc.assert(
    fc.property(schema, sent, (field, it) => {
      const root = { type: 'object', properties: { it: field }, required: ['it'] }
      const once = coerce(root, { it })
      expect(coerce(root, once)).toEqual(once)
      if (misfits(root, { it }).length === 0) expect(misfits(root, once)).toEqual([])
    }),
  )
})

test('a text that stays a text is unchanged', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (text, isNested) => {
      const field = isNested ? { type: 'array', items: { type: 'string' } } : { type: 'string' }
      const root = { type: 'object', properties: { it: field, n: { type: 'integer' } }, required: ['n'] }
      const it = isNested ? [text] : text
      expect(coerce(root, { it, n: '5' })).toEqual({ it, n: 5 })
      expect(textsOf(coerce(root, { it, n: 5 }))).toEqual(textsOf({ it }))
    }),
  )
})
