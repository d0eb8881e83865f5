import { describe, expect, test } from 'vitest'
import { runProgram } from '../../src/code/program.ts'
import { codeHook, runCodeTool } from '../../src/code/run-code.ts'
import { createFinder } from '../../src/search/finder.ts'
import { searchHook } from '../../src/search/hook.ts'
import { ask, play, say, tool } from '../fixtures/play.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'

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

  test('has at most 2,000 characters of a tool, and 24,000 of all of them', async () => {
    const ref = (level: number) => ({ $ref: `#/$defs/level${level}` })
    const $defs = Object.fromEntries(
      Array.from({ length: 24 }, (_, level) => [
        `level${level}`,
        { type: 'object', properties: { left: ref(level + 1), right: ref(level + 1), third: ref(level + 1) } },
      ]),
    )
    const own = characters(0)
    const fanOut = { type: 'object', properties: { start: ref(0) }, $defs }
    const wide = {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 400 }, (_, index) => [
          `field${index}`,
          { type: 'string', description: 'About it. '.repeat(9) },
        ]),
      ),
    }
    for (const inputSchema of [fanOut, wide]) {
      const tools = toolsOf(40, 'tool').map((tool) => ({ ...tool, inputSchema, outputSchema: inputSchema }))
      const sizeOf = async (count: number) =>
        (await runCodeTool(vmLoader(), tools.slice(0, count))).definition.description.length - (await own)
      expect(await sizeOf(1)).toBeLessThanOrEqual(2000)
      expect(await sizeOf(40)).toBeLessThanOrEqual(24_000)
      const { description } = (await runCodeTool(vmLoader(), tools)).definition
      expect(description).toContain('Shortened: `await tools.$describe("tool39")` tells all of it.')
    }
  })
})

test('a tool of the caller whose schema fans out by references takes no more room than others', async () => {
  const next = (at: number) => ({ $ref: `#/$defs/d${at + 1}` })
  const $defs = Object.fromEntries(
    Array.from({ length: 23 }, (_, at) => [
      `d${at}`,
      { anyOf: Array.from({ length: 3 }, () => ({ items: next(at) })) },
    ]),
  )
  const inputSchema = { type: 'object', properties: { start: { $ref: '#/$defs/d0' } }, $defs }
  const { requests } = await play({
    tools: [],
    loop: { hooks: [codeHook(vmLoader())] },
    request: { code: 'only', clientTools: [{ name: 'mine', description: 'Mine.', inputSchema }] },
    script: [say('ok')],
  })
  expect(requests.map(({ tools }) => tools.map(({ description }) => description.length < 4000))).toEqual([[true]])
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

test('the run fails if the setup throws about a call of a program, whatever the program makes of it', async () => {
  const payments: string[] = []
  const pay = tool('pay', () => void payments.push('pay'))
  const needsApproval = ({ tool: name }: { tool: string }) => {
    if (name === 'pay') throw new Error('secret detail')
    return false
  }
  const code = 'const paid = await tools.pay({}).catch(({ message }) => message); return [paid, await tools.count({})]'
  const { events, faults, state } = await play({
    tools: [count, pay],
    loop: { hooks: [codeHook(vmLoader())], needsApproval },
    request: { code: 'only' },
    script: [ask(['run_code', { code }]), say('ok')],
  })
  const error = { code: 'hook_failed', message: 'A hook of the edge failed.' }
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'failed', error })
  expect(state.calls.map(({ tool: name, result }) => [name, result?.error?.code])).toEqual([
    ['run_code', undefined],
    ['pay', 'hook_failed'],
    ['count', undefined],
  ])
  expect([payments, JSON.stringify(events).includes('secret detail')]).toEqual([[], false])
  expect(JSON.stringify(faults)).toContain('secret detail')
})

const ID = '9007199254740993'

test.each([
  [
    'parses a long number as its digits',
    `return JSON.parse('{"id":${ID},"n":[1.50,1e400,-7]}')`,
    { id: ID, n: [1.5, '1e400', -7] },
  ],
  [
    'has its own reviver called with them',
    `return JSON.parse('{"a":${ID},"b":"${ID}"}', (key, value) => key === 'a' ? typeof value : value)`,
    { a: 'string', b: ID },
  ],
  [
    'may write it as a text or a BigInt',
    `return { text: "${ID}", digits: ${ID}n + 2n }`,
    { text: ID, digits: '9007199254740995' },
  ],
])('a program %s', async (_, code, structured) => {
  const { state } = await playProgram(code)
  expect(state.calls[0]?.result).toMatchObject({ structured })
})

test.each([
  ['1', `return count({ id: ${ID} })`, ID, '9007199254740992', `as a BigInt, ${ID}n`],
  [
    '3',
    `const a = 1\n\nreturn a * 0.1234567890123456789`,
    '0.1234567890123456789',
    '0.12345678901234568',
    'with fewer digits',
  ],
  ['2', `// 1e400\nreturn 1e400`, '1e400', 'Infinity', 'with fewer digits'],
  ['1', `return 0x20000000000001`, '0x20000000000001', '9007199254740992', 'as a BigInt, 0x20000000000001n'],
])(
  'a program is not run if JavaScript would round a number of its line %s',
  async (line, code, number, ...[rounded, other]) => {
    const { state } = await playProgram(code)
    expect(state.calls.map(({ tool: name, result }) => [name, result?.error])).toEqual([
      [
        'run_code',
        {
          code: 'invalid_arguments',
          message: `The code cannot be run: JavaScript makes ${rounded} of the number ${number}. Write it as a text, "${number}", or ${other}.\nLine ${line}: ${code.split('\n').at(-1)}`,
        },
      ],
    ])
  },
)

test('a program that has begun under a version which rounded its numbers continues', async () => {
  const calls = { startedAt: 0, seed: 's', ask: () => {}, next: async () => [] }
  const lookups = { describe: async () => '', search: async () => '' }
  const run = (isResumed: boolean) =>
    runProgram(`return ${ID}`, {
      loader: vmLoader(),
      calls: { ...calls, isResumed },
      lookups,
      signal: new AbortController().signal,
    })
  expect(await run(false)).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } })
  expect(await run(true)).toEqual({ ok: true, content: [{ type: 'text', text: String(Number(ID)) }] })
})

function playProgram(code: string) {
  return play({
    tools: [count],
    loop: { hooks: [codeHook(vmLoader())] },
    request: { code: 'only' },
    script: [ask(['run_code', { code }]), say('ok')],
  })
}
