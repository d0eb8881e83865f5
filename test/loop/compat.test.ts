import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from '../../src/contract/config.ts'
import type { LoopSetup } from '../../src/contract/hook.ts'
import type { RunRequest } from '../../src/contract/run.ts'
import { failure } from '../../src/contract/tool.ts'
import { executeToolCalls } from '../../src/loop.ts'
import { defineTool, jsonSchema } from '../../src/tool.ts'
import { answerWithCalls, carried, chat, parseWith, QUESTION, resultsIn } from '../conformance/scene.ts'
import { ask, say, tool } from '../fixtures/play.ts'

type Compat = NonNullable<RunRequest['compat']>

/** What a tool is called with under `compat`, or the text that the model reads instead. */
async function callWith(compat: Compat | undefined, args: object, more: v.ObjectEntries = {}): Promise<unknown> {
  const input = v.object({ city: v.string(), days: v.number(), unit: v.optional(v.string(), 'C'), ...more })
  const inputs: unknown[] = []
  const tools = await carried(
    defineTool({ name: 'forecast', description: 'Forecasts', input, run: (value) => void inputs.push(value) }),
  )
  const options = { messages: [QUESTION], tools, ...(compat && { request: { compat } }) }
  const { results } = await executeToolCalls(options, answerWithCalls(['forecast', args]))
  return inputs[0] ?? resultsIn(results)[0]
}

describe('a required argument that the model left out', () => {
  test.each(['spring-ai', 'langchain4j'] as const)(
    'is null with compat "%s" unless it is a number or a boolean, and others are validated as ever',
    async (compat) => {
      expect(await callWith(compat, { days: '2' })).toEqual({ city: null, days: 2, unit: 'C' })
      expect(await callWith(compat, { city: null, days: 2 })).toEqual({ city: null, days: 2, unit: 'C' })
      expect(await callWith(compat, { city: 'Oslo' })).toContain('days: ')
      expect(await callWith(compat, { days: 'soon' })).toContain('days: ')
    },
  )

  test('is null also where a pattern, a format or a length is asked of it', async () => {
    const more = {
      code: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/), v.minLength(3)),
      mail: v.pipe(v.string(), v.email()),
      day: v.pipe(v.string(), v.isoDate()),
    }
    const nulls = { code: null, mail: null, day: null }
    expect(await callWith('spring-ai', { city: 'Oslo', days: 2 }, more)).toEqual({
      city: 'Oslo',
      days: 2,
      unit: 'C',
      ...nulls,
    })
  })

  test('is an error where all arguments are transformed together, and never a value among them', async () => {
    const input = v.pipe(
      v.object({ city: v.string(), unit: v.string() }),
      v.transform(({ city, unit }) => `${city} in ${unit}`),
    )
    expect(await parseWith(input, { unit: 'C' }, { compat: 'spring-ai' })).toContain('city: is required')
    const sum = v.pipe(
      v.object({ a: v.number(), b: v.number() }),
      v.transform(({ a, b }) => a + b),
    )
    expect(await parseWith(sum, {}, { compat: 'spring-ai' })).toContain('a: is required')
  })

  test('is null for a tool with a JSON Schema', async () => {
    const input = jsonSchema({
      type: 'object',
      properties: { city: { type: 'string', pattern: '^[A-Z]' }, days: { type: 'integer' } },
      required: ['city', 'days'],
    })
    expect(await parseWith(input, { days: 2 }, { compat: 'spring-ai' })).toEqual({ city: null, days: 2 })
    expect(await parseWith(input, { days: 'soon' }, { compat: 'spring-ai' })).toContain('days: ')
  })

  test('is converted beside arguments that the schema transforms', async () => {
    const on = v.pipe(v.string(), v.toDate())
    const more = { on, tags: v.array(v.string()), kind: v.picklist(['a', 'b']), rest: v.object({}) }
    expect(await callWith('spring-ai', { on: '2026-01-02', days: 3 }, more)).toEqual({
      city: null,
      days: 3,
      unit: 'C',
      on: new Date('2026-01-02'),
      tags: null,
      kind: null,
      rest: null,
    })
  })

  test('is an error without compat', async () => {
    expect(await callWith(undefined, { city: 'Oslo' })).toContain('days: ')
  })
})

describe('a run with COMPAT', () => {
  test('continues after a trailing comma, which LangChain4j mends too', async () => {
    const tools = [tool('add', ({ a }) => `${String(a)}!`)]
    const script = [ask(['add', '{"a": 1,}']), say('done')]
    const { answer, requests } = await chat({ script, tools, vars: { COMPAT: 'langchain4j' } })
    expect([answer, resultsIn(requests[1]?.messages)]).toEqual(['done', ['1!']])
  })

  test('answers with the error of a direct tool under "spring-ai" alone', async () => {
    const tools = [
      tool('broken', () => failure('broken', 'It broke.'), { returnDirect: 'always' }),
      tool('now', () => '10:00', { returnDirect: 'always' }),
    ]
    const answerOf = async (vars: Record<string, string>) =>
      (await chat({ script: [ask(['now'], ['broken']), say('Sorry')], tools, vars })).answer
    expect(await answerOf({ COMPAT: 'spring-ai' })).toBe('10:00\n\nIt broke.')
    expect(await answerOf({ COMPAT: 'langchain4j' })).toBe('Sorry')
    expect(await answerOf({})).toBe('Sorry')
  })

  test('gives tools the conversation id "default" under "langchain4j" where a request names none', async () => {
    const tools = [tool('id', (_, { conversationId = 'none' }) => conversationId)]
    const idOf = async (vars: Record<string, string>) =>
      resultsIn((await chat({ script: [ask(['id']), say('ok')], tools, vars })).requests[1]?.messages)
    expect(await idOf({ COMPAT: 'langchain4j' })).toEqual(['default'])
    expect(await idOf({ COMPAT: 'spring-ai' })).toEqual(['none'])
  })

  test.each(['spring-ai', 'langchain4j'])(
    'continues where `onFault` returns only a message, under "%s"',
    async (compat) => {
      const loop: LoopSetup = { onFault: ({ tool: name }) => ({ message: `No ${name} here.` }) }
      const script = [ask(['nosuch']), say('I cannot')]
      const { answer, requests } = await chat({ script, vars: { COMPAT: compat }, setup: { loop } })
      expect([answer, resultsIn(requests[1]?.messages)]).toEqual(['I cannot', ['No nosuch here.']])
    },
  )

  test('has no tool search and the memory of the library unless variables say so', () => {
    expect(readConfig({ COMPAT: 'langchain4j' })).toMatchObject({ toolSearch: 'off', window: {} })
    expect(readConfig({ COMPAT: 'langchain4j', TOOL_SEARCH: 'on' }).toolSearch).toBe('on')
    expect(readConfig({}).toolSearch).toBe('auto')
  })
})

test('-1 in a variable lifts a limit on calls, steps, tokens or cost, and no other', () => {
  const lifted = { MAX_STEPS: '-1', MAX_CALLS: -1, MAX_SAME_CALLS: '-1', MAX_TOKENS: '-1', MAX_COST: '-1' }
  const { limits } = readConfig({ ...lifted, MAX_CALLS_PER_TOOL: '-1' })
  const NEVER = 1_000_000
  expect(limits).toMatchObject({ steps: NEVER, calls: NEVER, callsPerTool: NEVER, sameCalls: NEVER })
  expect('tokens' in limits || 'cost' in limits).toBe(false)
  expect(() => readConfig({ CALL_TIMEOUT_MS: '-1' })).toThrow(ConfigError)
})
