import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Script } from '../fixtures/scripted.ts'
import { vmCodeMode } from '../fixtures/vm-loader.ts'
import { testEdge, type TestEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

const calls: string[] = []
const TOOLS = ['orderStatus', 'cancelOrder'].map((name) => tool(name, () => void calls.push(name)))

/** An edge with these answers of a model, served over HTTP. */
async function edgeOf(
  script: readonly Script[],
  { tools = TOOLS, setup = {} }: Pick<Parameters<typeof testEdge>[0] & object, 'tools' | 'setup'> = {},
): Promise<TestEdge & { readonly url: string }> {
  const edge = testEdge({ script, tools, setup })
  const server = createServer((request, response) => {
    void buffer(request).then(async (body) => {
      const { method = 'GET', url = '/', headers } = request
      const requestHeaders = { 'content-type': 'application/json', accept: headers.accept ?? '*/*' }
      const answer = await edge.ask(url, { method, headers: requestHeaders, ...(body.length > 0 && { body }) })
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { ...edge, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Runs `eval` in a folder with these files. */
async function evaluate(files: Readonly<Record<string, string>>, args: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'eval-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
  const command = start(process.execPath, [MAIN, 'eval', 'cases.jsonl', ...args], { cwd: root })
  try {
    const code = await command.ended
    const [out, errors] = [command.out(), command.errors()]
    const report = args.includes('--report') && code === 0 ? readFileSync(join(root, 'report.md'), 'utf8') : ''
    const values = args.includes('--json')
      ? out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
    return { code, out, errors, report, values }
  } finally {
    command.kill()
  }
}

const linesOf = (...cases: readonly object[]) => ({
  'cases.jsonl': cases.map((each) => JSON.stringify(each)).join('\n'),
})

const WHERE = { question: 'Where is A-1?', calls: [{ tool: 'orderStatus', arguments: { number: 'A-*' } }] }

describe('eval', () => {
  test('reports how often the expected calls follow, with tokens and time, and calls no tool', async () => {
    const { url } = await edgeOf([
      ask(['orderStatus', { number: 'A-1', verbose: true }]),
      ask(['orderStatus', { number: 'B-1' }]),
      ask(['cancelOrder', { number: 'A-1' }]),
      say('It is on its way.'),
    ])
    const { code, values } = await evaluate(linesOf(WHERE), ['--url', url, '--tries', '4', '--json'])
    const tally = {
      tries: 4,
      chosenCount: 2,
      passCount: 1,
      usage: { inputTokens: 40, outputTokens: 20 },
      ...{ requests: 4, callCount: 3 },
      durationMs: expect.any(Number),
    }
    const side = { side: 'A', model: 'test/scripted', descriptions: 'edge' }
    expect(values).toEqual([
      { line: 1, question: WHERE.question, ...side, expected: WHERE.calls, outcomes: expect.any(Array), ...tally },
      { ...side, cases: 1, rate: 0.25, ...tally },
    ])
    expect(new Set(values[0].outcomes)).toEqual(
      new Set([
        { times: 1, isPassed: true, calls: [{ tool: 'orderStatus', arguments: { number: 'A-1', verbose: true } }] },
        { times: 1, isPassed: false, calls: [{ tool: 'orderStatus', arguments: { number: 'B-1' } }] },
        { times: 1, isPassed: false, calls: [{ tool: 'cancelOrder', arguments: { number: 'A-1' } }] },
        { times: 1, isPassed: false, calls: [] },
      ]),
    )
    expect(code).toBe(0)
    expect(calls).toEqual([])
  })

  test('answers calls with stand-in results until all expected calls have come', async () => {
    const { url, requests } = await edgeOf([ask(['orderStatus']), ask(['cancelOrder'])])
    const both = { question: 'Cancel A-1.', calls: [{ tool: 'cancelOrder' }, { tool: 'orderStatus' }] }
    const results = { orderStatus: { status: 'packed' } }
    const { out } = await evaluate(linesOf({ ...both, results }), ['--url', url])
    expect(out).toContain('  1  A 1/1  Cancel A-1.\n')
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3])
    expect(requests[1]?.messages[2]).toMatchObject({
      role: 'tool',
      tool: 'orderStatus',
      content: [{ type: 'text', text: '{"status":"packed"}' }],
    })
  })

  test('compares the descriptions of the edge with those of a file, side by side', async () => {
    const { url, requests } = await edgeOf([ask(['cancelOrder']), ask(['orderStatus', { number: 'A-1' }])])
    const files = { ...linesOf(WHERE), 'new.json': '{ "orderStatus": "Tells where an order is." }' }
    const { code, out } = await evaluate(files, ['--url', url, '--descriptions', 'new.json', '--threshold', '0.9'])
    expect(requests.map(({ tools }) => tools.map(({ name, description }) => `${name}: ${description}`))).toEqual([
      ['orderStatus: Test tool orderStatus', 'cancelOrder: Test tool cancelOrder'],
      ['orderStatus: Tells where an order is.', 'cancelOrder: Test tool cancelOrder'],
    ])
    const text = out.replace(/\d+ ms/g, 'N ms').replace(/ {2,}/g, '  ')
    expect(text).toBe(`  1  A 0/1  B 1/1  Where is A-1?
  expected orderStatus {"number":"A-*"}
  A 1x cancelOrder {}
  A  B
model  test/scripted  test/scripted
descriptions  edge  new.json
passed  0 of 1 (0 %)  1 of 1 (100 %)
tool chosen  0 of 1 (0 %)  1 of 1 (100 %)
calls  1  1
model requests  1  1
input tokens  10  10
output tokens  5  5
cost  unknown: see MODEL_PRICES  unknown: see MODEL_PRICES
time per try  N ms  N ms
Below the threshold of 0.9: A
`)
    expect(code).toBe(1)
  })

  test('awaits the answer if a case has texts that it must contain', async () => {
    const question = { ...WHERE, answer: ['on * way'] }
    const { url } = await edgeOf([
      ask(['orderStatus', { number: 'A-1' }]),
      say('It is on its way.'),
      ask(['orderStatus', { number: 'A-1' }]),
      say('I do not know.'),
    ])
    const passing = await evaluate(linesOf(question), ['--url', url])
    expect(passing.out).toContain('  1  A 1/1  Where is A-1?\n')
    const { out } = await evaluate(linesOf(question), ['--url', url])
    expect(out).toContain(`       expected orderStatus {"number":"A-*"}, then “on * way”
       A 1x orderStatus {"number":"A-1"}, then “I do not know.”
`)
  })

  test('compares calls with programs that call the tools, which are read-only, and writes a page', async () => {
    calls.length = 0
    const tools = [
      tool('orderStatus', () => void calls.push('orderStatus'), { annotations: { readOnly: true } }),
      tool('cancelOrder', () => void calls.push('cancelOrder')),
    ]
    const code = 'await Promise.all(["A-1", "A-2"].map((number) => tools.orderStatus({ number })))\nreturn "on its way"'
    const [first, second] = ['A-1', 'A-2'].map((number) => ask(['orderStatus', { number }]))
    const { url, requests } = await edgeOf(
      [first ?? [], second ?? [], say('Both are on their way.'), ask(['run_code', { code }]), say('On its way.')],
      { tools, setup: { loop: { hooks: [vmCodeMode()] } } },
    )
    const both = {
      question: 'Where are A-1 | A-2?',
      calls: [{ tool: 'orderStatus', arguments: { number: 'A-1' } }, { tool: 'orderStatus' }],
      answer: ['on its way'],
    }
    const args = ['--url', url, '--live', '--code', 'off', '--code', 'only', '--report', 'report.md']
    const { out, report } = await evaluate(linesOf(both), args)
    expect(out).toContain('A 0/1  B 1/1  Where are A-1 | A-2?')
    expect(calls).toEqual(['orderStatus', 'orderStatus', 'orderStatus', 'orderStatus'])
    expect(requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      ['orderStatus'],
      ['orderStatus'],
      ['orderStatus'],
      ['run_code'],
      ['run_code'],
    ])
    expect(report.replace(/\d+ ms/g, 'N ms')).toBe(`# cases.jsonl

|  | A | B |
| --- | --- | --- |
| model | test/scripted | test/scripted |
| descriptions | edge | edge |
| code mode | off | only |
| passed | 0 of 1 (0 %) | 1 of 1 (100 %) |
| tool chosen | 1 of 1 (100 %) | 1 of 1 (100 %) |
| calls | 2 | 2 |
| model requests | 3 | 2 |
| input tokens | 30 | 20 |
| output tokens | 15 | 10 |
| cost | unknown: see MODEL&#95;PRICES | unknown: see MODEL&#95;PRICES |
| time per try | N ms | N ms |

## Cases

| Question | A | B |
| --- | --- | --- |
| Where are A-1 &#124; A-2? | 0/1; 1x orderStatus {"number":"A-1"}, orderStatus {"number":"A-2"}, then “Both are on their way.” | 1/1 |
`)
  })

  test('shows earlier results beside the new ones', async () => {
    const { url } = await edgeOf([ask(['cancelOrder']), ask(['orderStatus', { number: 'A-1' }])])
    const earlier = await evaluate(linesOf(WHERE), ['--url', url, '--json'])
    const { out } = await evaluate({ ...linesOf(WHERE), 'old.jsonl': earlier.out }, [
      '--url',
      url,
      '--before',
      'old.jsonl',
    ])
    expect(out).toContain('  1  before A 0/1  A 1/1  Where is A-1?\n')
    expect(out).toMatch(/passed +0 of 1 \(0 %\) +1 of 1 \(100 %\)\n/)
  })

  test('passes a case without calls if the model calls nothing, and reaches the threshold', async () => {
    const { url } = await edgeOf([say('Hello!'), say('Hello!')])
    const hello = linesOf({ question: 'Hello', calls: [] })
    const args = ['--url', url, '--model', 'test/scripted', '--model', 'test/scripted', '--threshold', '1']
    const { code, out } = await evaluate(hello, args)
    expect(out).toContain('  1  A 1/1  B 1/1  Hello\n')
    expect(code).toBe(0)
  })
})

describe('eval refuses', () => {
  test.each([
    ['{', /^cases\.jsonl:2: .*JSON/],
    ['{ "question": "Hi", "cals": [] }', /^cases\.jsonl:2: calls: /],
    ['{ "question": "Hi", "calls": [], "tool": "x" }', /^cases\.jsonl:2: tool: /],
  ])('a line that is not a case, with its number: %s', async (line, error) => {
    const { code, errors } = await evaluate({ 'cases.jsonl': `${JSON.stringify(WHERE)}\n${line}\n` }, [
      '--url',
      'http://127.0.0.1:9',
    ])
    expect(errors).toMatch(error)
    expect(code).toBe(1)
  })

  test.each([
    [{ 'cases.jsonl': '\n' }, [], 'cases.jsonl has no cases.'],
    [{}, [], 'cases.jsonl cannot be read: '],
    [linesOf(WHERE), ['--tries', '0'], '--tries must be a number from 1 to 100, not "0".'],
    [linesOf(WHERE), ['--threshold', '90'], '--threshold must be a number from 0 to 1, not "90".'],
    [linesOf(WHERE), ['--live', '--code', 'on'], '--code must be off, also, only, not "on".'],
    [linesOf(WHERE), ['--code', 'only'], '--code needs --live: programs call tools.'],
    [
      { ...linesOf(WHERE), 'new.json': '{}' },
      ['--live', '--descriptions', 'new.json'],
      '--live and --descriptions cannot',
    ],
    [{ ...linesOf(WHERE), 'old.jsonl': '{}' }, ['--before', 'old.jsonl'], 'old.jsonl:1 is not a result.'],
    [{ ...linesOf(WHERE), 'old.jsonl': '' }, ['--before', 'old.jsonl'], 'old.jsonl has no results.'],
    [linesOf(WHERE), [], 'http://127.0.0.1:9 does not answer: '],
  ])('what it cannot use: %j %j', async (files, args, error) => {
    const { code, errors } = await evaluate(files, ['--url', 'http://127.0.0.1:9', ...args])
    expect(errors).toContain(error)
    expect(code).toBe(1)
  })

  test('a missing edge, an unknown model, and a description of an unknown tool', async () => {
    expect((await evaluate(linesOf(WHERE), [])).errors).toContain('Say where the edge is')
    const { url } = await edgeOf([])
    const unknown = await evaluate(linesOf(WHERE), ['--url', url, '--model', 'test/other'])
    expect(unknown.errors).toMatch(/^The question of line 1 was refused: /)
    const files = { ...linesOf(WHERE), 'new.json': '{ "order": "Tells where an order is." }' }
    const { errors } = await evaluate(files, ['--url', url, '--descriptions', 'new.json'])
    expect(errors).toBe('new.json: the edge has no tool "order".\nIt has cancelOrder, orderStatus.\n')
  })
})
