import * as v from 'valibot'
import { expect } from 'vitest'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineRawTool, defineTool, jsonSchema, toolsOf } from '../../../src/tool.ts'
import { COMPATIBLE_DIALECT } from '../../../src/wire/provider/dialects.ts'
import { fitRequest } from '../../../src/wire/provider/fit-request.ts'
import { encodeChatRequest as chatRequest } from '../../../src/wire/provider/openai-chat/request.ts'
import { different, notApplicable, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, parseWith, QUESTION, resultsIn } from '../scene.ts'
import { integer, misfit } from './scene.ts'

const none = v.object({})
const run = () => ''

function schemaOf(input: v.GenericSchema) {
  return defineTool({ name: 't', description: 'T', input, run }).outline.inputSchema
}

class Account {
  static rate() {
    return 3
  }
  balance() {
    return 'balance'
  }
  owner() {
    return 'somebody'
  }
}

class Savings extends Account {
  override owner() {
    return 'Ada'
  }
}

/** Rows 32 to 38: what is said of a tool, and to whom. */
export const described: readonly Row[] = [
  {
    row: 32,
    says: 'a model is not told that the tool gets the conversation',
    verdict: same(async () => {
      const tools = await carried(
        defineTool({ name: 'tool', description: 'Tool', input: none, run: (_, { conversationId }) => conversationId }),
      )
      expect(tools[0]?.definition.inputSchema).toEqual({ type: 'object', properties: {}, required: [] })
      const options = { messages: [QUESTION], tools, request: { conversation: 'conv_1' } }
      const { results } = await executeToolCalls(options, answerWithCalls(['tool', { conversationId: 'conv_2' }]))
      expect(resultsIn(results)).toEqual(['conv_1'])
    }),
  },
  {
    row: 33,
    says: 'a tool has metadata, any JSON object, which models are not told',
    verdict: same(async () => {
      const metadata = { owner: 'Ada', limits: [1, { a: null }] }
      const options = { name: 't', description: 'T', input: none, run }
      const tools = await carried(defineTool({ ...options, metadata }))
      expect(tools[0]?.definition.metadata).toEqual(metadata)
      const definitions = tools.map(({ definition }) => definition)
      expect(chatRequest('m', { messages: [QUESTION], tools: definitions })).not.toContain('Ada')
      // It is no other tool for that.
      expect(definitions[0]?.hash).toBe((await defineTool(options).describe()).hash)
    }),
  },
  {
    row: 34,
    says: 'what is required is told: not what is optional, may be nothing, or has a default',
    verdict: same(() => {
      const requiredOf = (input: v.GenericSchema) => schemaOf(input)['required']
      expect(requiredOf(v.object({ a: v.string(), b: integer }))).toEqual(['a', 'b'])
      expect(requiredOf(v.object({ a: v.optional(v.string()), b: integer }))).toEqual(['b'])
      expect(requiredOf(v.object({ a: v.nullish(v.string()), b: v.optional(integer, 1) }))).toEqual([])
      expect(requiredOf(v.object({ a: v.nullable(v.string()) }))).toEqual(['a'])
      expect(requiredOf(v.partial(v.object({ a: v.string(), b: v.string() })))).toEqual([])
      expect(requiredOf(v.object({}))).toEqual([])
    }),
  },
  {
    row: 35,
    says: 'a field has one description; two ways to give it at once are refused',
    verdict: different('there is one way, and what stands last in it holds', () => {
      const field = v.pipe(v.string(), v.description('First'), v.title('Name'), v.description('Last'))
      expect(schemaOf(v.object({ field }))).toMatchObject({
        properties: { field: { type: 'string', title: 'Name', description: 'Last' } },
      })
      expect(schemaOf(v.object({ field: v.string() }))['properties']).toEqual({ field: { type: 'string' } })
    }),
  },
  {
    row: 36,
    says: 'the methods of an object that are tools are found: inherited, overridden and static ones',
    verdict: different(
      'they are named: nothing becomes a tool unawares, and static ones belong to no object',
      async () => {
        const texts = { description: 'Tells', input: none }
        const tools = await carried(...toolsOf(new Savings(), { balance: texts, owner: texts }))
        const { results } = await executeToolCalls(
          { messages: [QUESTION], tools },
          answerWithCalls(['balance'], ['owner']),
        )
        expect(resultsIn(results)).toEqual(['balance', 'Ada'])
        // @ts-expect-error The types know it too.
        expect(() => toolsOf(new Savings(), { rate: texts })).toThrow('"rate" is not a method')
        expect(() => toolsOf(new Savings(), { toString: texts })).toThrow('"toString" is not a method')
      },
    ),
  },
  {
    row: 37,
    says: 'where the names of parameters were not compiled in, a warning is logged once for a class',
    verdict: notApplicable('names of fields are those of the schema, and are always there'),
  },
  {
    row: 38,
    says: 'a definition goes to JSON and back, strict or not, and one that is unsound is refused',
    verdict: same(async () => {
      const input = v.object({ city: v.pipe(v.string(), v.description('Its name')) })
      // What a provider is to hold its model to is closed.
      for (const [strict, closed] of [
        [{}, {}],
        [{ strict: true }, { additionalProperties: false }],
        [{ strict: false }, {}],
      ] as const) {
        const settings = { title: 'Weather', annotations: { readOnly: true }, tags: ['sky'], ...strict }
        const definition = await defineTool({ name: 'look', description: 'Looks', input, ...settings, run }).describe()
        const { hash: _, ...read }: ToolDefinition = JSON.parse(JSON.stringify(definition))
        expect(await defineRawTool(read, run).describe()).toEqual({ ...definition, ...settings })
        const { request } = fitRequest({ messages: [QUESTION], tools: [definition] }, COMPATIBLE_DIALECT)
        const body = JSON.parse(chatRequest('m', request))
        const parameters = { ...definition.inputSchema, ...closed }
        expect(body.tools).toEqual([
          { type: 'function', function: { name: 'look', description: 'Looks', parameters, ...strict } },
        ])
      }
      expect(defineRawTool({ name: 'bare' }, run).outline).toEqual({
        name: 'bare',
        description: 'bare',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        version: '1',
        annotations: {},
      })
      const unsound = [{ type: 'nothing' }, { type: 'object', properties: [] }, { type: 'object', required: 'a' }]
      for (const schema of unsound) {
        expect(() => jsonSchema(schema)).toThrow(TypeError)
        expect(() => defineRawTool({ name: 'bad', inputSchema: schema }, run)).toThrow(/^Tool "bad": inputSchema: /)
      }
      const required = jsonSchema({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] })
      expect(await parseWith(required, {})).toBe(misfit('a: is required (string)'))
    }),
  },
]
