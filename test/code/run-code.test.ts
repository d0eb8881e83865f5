import { describe, expect, test } from 'vitest'
import { codeHook, declarationsOf, runCodeTool } from '../../src/code/run-code.ts'
import { createFinder } from '../../src/search/finder.ts'
import { searchHook } from '../../src/search/hook.ts'
import { ask, play, say, tool } from '../fixtures/play.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'

describe('declarations', () => {
  test('have the types of all kinds of schemas, and descriptions as comments', () => {
    const inputSchema = {
      type: 'object',
      $defs: { money: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } },
      properties: {
        who: { type: 'string', description: 'A person, */ or a team' },
        kind: { enum: ['a', 1, null] },
        fixed: { const: true },
        price: { $ref: '#/$defs/money' },
        tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
        both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { $ref: '#/$defs/money' }] },
        maybe: { type: ['string', 'null'] },
        more: { type: 'object', additionalProperties: { type: 'boolean' } },
        'a-b': {},
      },
      required: ['who'],
    }
    const outputSchema = { type: 'array', items: { type: 'string' } }
    expect(declarationsOf([{ name: 'pay-out', description: 'Pays.\nSoon.', inputSchema, outputSchema }])).toBe(
      `declare const tools: {
  /** Pays. Soon. */
  "pay-out"(input: {
    /** A person, * / or a team */
    who: string
    kind?: "a" | 1 | null
    fixed?: true
    price?: {
      amount: number
    }
    tags?: (string | number)[]
    pair?: [string, number]
    both?: {
      a?: string
    } & {
      amount: number
    }
    maybe?: string | null
    more?: {
      [name: string]: boolean
    }
    "a-b"?: unknown
  }): Promise<string[]>
}`,
    )
  })

  test('has the examples of a tool in its comment', () => {
    const inputSchema = { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }
    const inputExamples = [{ day: 'today' }, { day: '2026-03-01' }]
    expect(declarationsOf([{ name: 'book', description: 'Books.', inputSchema, inputExamples }])).toBe(
      `declare const tools: {
  /** Books. Examples of arguments: {"day":"today"} {"day":"2026-03-01"} */
  book(input: {
    day: string
  }): Promise<any>
}`,
    )
  })
})

describe('the definition of run_code', () => {
  const toolsOf = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${name}${index}`,
      description: `Does the work of number ${index} for the people of a department, and tells what came of it.`,
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      hash: String(index),
    }))
  const characters = async (count: number, name = 'tool') =>
    JSON.stringify((await runCodeTool(vmLoader(), toolsOf(count, name))).definition).length

  test('takes at most 2,000 tokens for 1,000 tools, and for as many as are listed by name', async () => {
    expect(await characters(1000)).toBeLessThan(2000 * 4)
    expect(await characters(60)).toBeLessThan(2000 * 4)
    expect(await characters(60)).toBeGreaterThan(60 * 80)
  })

  test('has the declarations of 40 tools, and names of more', async () => {
    const describe = async (count: number) =>
      (await runCodeTool(vmLoader(), toolsOf(count, 'tool'))).definition.description
    expect(await describe(40)).toContain('  tool39(input: {\n    id: string\n  }): Promise<any>')
    expect(await describe(41)).toContain('\ntool40: Does the work of number 40')
    expect(await describe(1000)).toContain('There are 1000 tools.')
  })
})

const count = tool('count', () => 'one', { description: 'Counts.' })
const weather = tool('getWeather', () => '18 degrees', { description: 'Tells the weather of a city.' })
const finder = createFinder({
  list: async () => ({ tools: [weather], unavailable: [] }),
  offered: async () => [],
  find: async () => [],
})
const PROGRAM = 'return [await tools.getWeather({}), await tools.$describe("getWeather")]'

test.each([
  ['also', ['run_code', 'tool_search', 'count']],
  ['only', ['run_code', 'tool_search']],
] as const)('with `code: "%s"`, a found tool leaves what was sent before as it was', async (code, names) => {
  const hooks = [searchHook({ when: 'on', always: ['count'], finder: () => finder }), codeHook(vmLoader())]
  const shared = { tools: [count], others: [weather], loop: { hooks }, request: { code, searchesAll: true } } as const
  const { requests, state } = await play({
    ...shared,
    script: [
      ask(['tool_search', { query: 'weather' }]),
      ask(['run_code', { code: PROGRAM }]),
      ask(['run_code', { code: PROGRAM }]),
      say('ok'),
    ],
  })
  const next = await play({ ...shared, script: [say('ok')], history: state.messages })
  const withFound = [...names, 'getWeather']
  const all = [...requests, ...next.requests]
  expect(all.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    names,
    withFound,
    withFound,
    withFound,
    withFound,
  ])
  expect(new Set(all.map(({ tools }) => tools[0]?.description)).size).toBe(1)
  const results = state.messages.filter((message) => message.role === 'tool' && message.tool === 'run_code')
  const declared =
    'declare const tools: {\n  /** Tells the weather of a city. */\n  getWeather(input?: {}): Promise<any>\n}'
  const text = JSON.stringify(['18 degrees', declared.replace('{})', 'Record<string, unknown>)')])
  expect(results.map(({ content }) => content)).toEqual([[{ type: 'text', text }], [{ type: 'text', text }]])
})
