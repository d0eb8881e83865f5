import { expect, test } from 'vitest'
import type { Tool, ToolOutcome } from '../../src/contract/tool.ts'
import { changesIn, type NumberPart, NUMBER_PARTS } from '../fixtures/json-numbers.ts'
import { say, tool } from '../fixtures/play.ts'
import { callAnswer } from '../fixtures/scripted.ts'
import { vmCodeMode } from '../fixtures/vm-loader.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

/** Tests that all numbers take some way unchanged. */
function testNumbers(
  name: string,
  way: (part: NumberPart, expectAll: (value: unknown, lists: number) => void) => Promise<void>,
) {
  test(name, async () => {
    for (const part of NUMBER_PARTS) {
      await way(part, (value, lists) => {
        expect(changesIn(value, part.numbers)).toEqual(Array.from({ length: lists }, () => []))
      })
    }
  })
}

/** A tool that answers what it gets: as a value, and as a text with the digits that a service wrote. */
const echo = (list: string, definition: Partial<Tool['definition']> = {}) =>
  tool(
    'echo',
    ({ list: structured }): ToolOutcome => ({
      ok: true,
      content: [{ type: 'text', text: list }],
      structured: { list: structured },
    }),
    definition,
  )

const vars = { MAX_RESULT_BYTES: '10000000' }

async function send(edge: KeptEdge, path: string, body: string, accept = 'application/json'): Promise<string> {
  const headers = { 'content-type': 'application/json', accept }
  const response = await edge.fetch(path, { method: 'POST', headers, body })
  const text = await response.text()
  expect(response.ok ? 'ok' : text).toBe('ok')
  return text
}

const read = async (edge: KeptEdge, path: string) => (await edge.fetch(path)).text()

const MINE = '"name":"mine","description":"Mine.","parameters":{"type":"object"}'
const CHAT = '"messages":[{"role":"user","content":"Go"}]'
const PARTS_OF_UI = '"messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"Go"}]}]'
const STREAM = 'text/event-stream'

/** How many lists of numbers the answer has: arguments, results as text and as values, and the pieces of streams. */
const RUNS: readonly (readonly [door: string, path: string, body: string, answered: number, accept?: string])[] = [
  ['runs', '/runs', '{"input":"Go"}', 3],
  ['runs as a stream', '/runs', '{"input":"Go"}', 5, STREAM],
  ['Chat Completions', '/v1/chat/completions', `{${CHAT}}`, 1],
  ['Responses', '/v1/responses', '{"input":"Go"}', 2],
  ['Messages', '/v1/messages', `{"max_tokens":9,${CHAT}}`, 1],
  ['useChat', '/chat', `{"id":"c",${PARTS_OF_UI}}`, 3],
  ['AG-UI', '/ag-ui', `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Go"}]}`, 2],
]

for (const [door, path, body, answered, accept] of RUNS) {
  testNumbers(`a tool gets and answers every number in a run of ${door}`, async ({ list }, expectAll) => {
    const edge = keptEdge({ script: [callAnswer('echo', list), say('Done.')], tools: [echo(list)], vars })
    expectAll(await send(edge, path, body, accept), answered)
    expectAll(edge.requests[1]?.messages, 2)
  })
}

const HANDED: typeof RUNS = [
  ['Chat Completions', '/v1/chat/completions', `{${CHAT},"tools":[{"type":"function","function":{${MINE}}}]}`, 1],
  [
    'Chat Completions as a stream',
    '/v1/chat/completions',
    `{"stream":true,${CHAT},"tools":[{"type":"function","function":{${MINE}}}]}`,
    1,
  ],
  ['Responses', '/v1/responses', `{"input":"Go","tools":[{"type":"function",${MINE}}]}`, 1],
  ['Responses as a stream', '/v1/responses', `{"stream":true,"input":"Go","tools":[{"type":"function",${MINE}}]}`, 4],
  [
    'Messages',
    '/v1/messages',
    `{"max_tokens":9,${CHAT},"tools":[{"name":"mine","input_schema":{"type":"object"}}]}`,
    1,
  ],
  [
    'Messages as a stream',
    '/v1/messages',
    `{"stream":true,"max_tokens":9,${CHAT},"tools":[{"name":"mine","input_schema":{"type":"object"}}]}`,
    1,
  ],
]

for (const [door, path, body, answered] of HANDED) {
  testNumbers(`the caller gets every number of arguments for its tool by ${door}`, async ({ list }, expectAll) => {
    expectAll(await send(keptEdge({ script: [callAnswer('mine', list)] }), path, body), answered)
  })
}

const HISTORIES: readonly (readonly [door: string, path: string, body: (part: NumberPart) => string])[] = [
  [
    'Chat Completions',
    '/v1/chat/completions',
    ({ text }) =>
      `{"messages":[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"mine","arguments":${text}}}]},{"role":"tool","tool_call_id":"call_1","content":${text}},{"role":"user","content":"Go"}]}`,
  ],
  [
    'Responses',
    '/v1/responses',
    ({ text }) =>
      `{"input":[{"type":"function_call","call_id":"call_1","name":"mine","arguments":${text}},{"type":"function_call_output","call_id":"call_1","output":${text}},{"role":"user","content":"Go"}]}`,
  ],
  [
    'Messages',
    '/v1/messages',
    ({ list, text }) =>
      `{"max_tokens":9,"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"mine","input":${list}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":${text}},{"type":"text","text":"Go"}]}]}`,
  ],
]

for (const [door, path, bodyOf] of HISTORIES) {
  testNumbers(`the model gets every number of the history in a request of ${door}`, async (part, expectAll) => {
    const edge = keptEdge({ script: [say('Done.')], vars })
    await send(edge, path, bodyOf(part))
    expectAll(edge.requests[0]?.messages, 2)
  })
}

testNumbers('an answer in a format has every number', async ({ list }, expectAll) => {
  const edge = keptEdge({ script: [say(list)], vars })
  const format = '{"type":"json_schema","name":"a","schema":{"type":"object"}}'
  expectAll(await send(edge, '/runs', `{"input":"Go","responseFormat":${format}}`), 1)
})

testNumbers('a tool gets every number of the context of a conversation', async ({ numbers }) => {
  const values: object[] = []
  const note = tool('note', (_, context) => void values.push(context.values))
  const edge = keptEdge({ script: [], tools: [note] })
  // A context has at most 16 KiB.
  const part = numbers.slice(0, 400)
  await send(edge, '/tools/note/call', `{"arguments":{},"context":{"list":[${part.join(',')}]}}`)
  expect(changesIn(values, part)).toEqual([[]])
})

for (const [path, bodyOf] of [
  ['/tools/echo/call', (list: string) => `{"arguments":${list}}`],
  [
    '/mcp',
    (list: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${list}}}`,
  ],
] as const) {
  testNumbers(`a tool gets and answers every number at ${path}`, async ({ list }, expectAll) => {
    const edge = keptEdge({ script: [], tools: [echo(list)], vars })
    expectAll(await send(edge, path, bodyOf(list), `application/json, ${STREAM}`), 2)
  })
}

testNumbers(
  'a conversation keeps every number: in its messages, records, events and copies',
  async ({ list }, expectAll) => {
    const edge = keptEdge({ script: [callAnswer('echo', list), say('Done.')], tools: [echo(list)], vars })
    await send(edge, '/conversations', '{"id":"c"}')
    const { id } = JSON.parse(await send(edge, '/conversations/c/runs', '{"input":"Go"}')) as { readonly id: string }
    for (const [path, lists] of [
      ['/conversations/c/messages', 2],
      [`/conversations/c/runs/${id}`, 3],
      [`/conversations/c/runs/${id}/events`, 5],
      ['/conversations/c/export', 5],
      ['/chat/c', 2],
      ['/ag-ui/c', 2],
    ] as const) {
      expectAll(await read(edge, path), lists)
    }
    const copy = await read(edge, '/backups/c')
    expectAll(copy, 2)
    const other = keptEdge({ script: [], tools: [echo(list)], vars })
    const headers = { 'content-type': 'application/x-ndjson' }
    expect((await other.fetch('/backups/c', { method: 'PUT', headers, body: copy })).status).toBe(201)
    expectAll(await read(other, '/conversations/c/messages'), 2)
  },
)

testNumbers('a call that waits for a person keeps every number of its arguments', async ({ list }, expectAll) => {
  const got: unknown[] = []
  const pay = tool('pay', (args) => void got.push(args), { approval: 'always' })
  const edge = keptEdge({ script: [callAnswer('pay', list), say('Done.')], tools: [pay], vars })
  await send(edge, '/conversations', '{"id":"c"}')
  const waiting = await send(edge, '/conversations/c/runs', '{"input":"Go"}')
  expectAll(waiting, 1)
  const { id, calls } = JSON.parse(waiting)
  const call = `/conversations/c/runs/${id}/calls/${calls[0].id}`
  expectAll(await read(edge, call), 1)
  await send(edge, call, `{"decision":"approve","arguments":${list}}`)
  await edge.settle()
  expectAll(got, 1)
})

testNumbers('the model gets every number of a result that the caller sends', async ({ list, text }, expectAll) => {
  const tools = '"clientTools":[{"name":"mine","description":"Mine.","inputSchema":{"type":"object"}}]'
  const bodies = [`{"result":${list}}`, `{"result":${text}}`]
  const edge = keptEdge({ script: bodies.flatMap(() => [callAnswer('mine'), say('Done.')]), vars })
  for (const [index, body] of bodies.entries()) {
    await send(edge, '/conversations', `{"id":"c${index}"}`)
    const { id, calls } = JSON.parse(await send(edge, `/conversations/c${index}/runs`, `{"input":"Go",${tools}}`))
    await send(edge, `/conversations/c${index}/runs/${id}/calls/${calls[0].id}`, body)
    await edge.settle()
    expectAll(edge.requests.at(-1)?.messages, 1)
  }
})

testNumbers('a program passes on every number that a tool gave it', async ({ list }, expectAll) => {
  const got: unknown[] = []
  const note = tool('note', (args) => void got.push(args))
  const text = tool('text', () => list)
  const code = `
    const { list } = await tools.echo(JSON.parse(await tools.text()))
    await tools.note({ list })
    return { list }`
  const edge = keptEdge({
    script: [callAnswer('run_code', { code }), say('Done.')],
    tools: [echo(list), note, text],
    vars,
    setup: { loop: { hooks: [vmCodeMode()] } },
  })
  const record = await send(edge, '/runs', '{"input":"Go","code":"only"}')
  expectAll(got, 1)
  expectAll(edge.requests[1]?.messages, 1)
  expectAll(record, 7)
})
