import { isTerminal, type RunStatus } from '../../src/contract/run.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject } from '../../src/contract/json.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'
import { eventually } from '../fixtures/eventually.ts'

const clock = tool('clock', () => '12:00')
const user = { role: 'user', content: 'Hi' }
const parts = [{ type: 'text', text: 'Hi' }]
const pick = { name: 'pick', description: 'Picks', parameters: { type: 'object' } }
const edgecall = { tools: ['clock'], context: { a: 1 }, limits: { steps: 2 } }

/** A body that each surface takes. */
const BODIES: Readonly<Record<string, Record<string, unknown>>> = {
  '/v1/chat/completions': {
    model: 'test/scripted',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: parts },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'pick', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'left' },
    ],
    tools: [{ type: 'function', function: pick }],
    tool_choice: { type: 'function', function: { name: 'pick' } },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    stream_options: { include_usage: true },
    temperature: 1,
    edgecall,
  },
  '/v1/responses': {
    model: 'test/scripted',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'function_call', call_id: 'a', name: 'pick', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'left' },
      { type: 'mcp_call', id: 'mcp_b', name: 'clock', arguments: '{}', output: '12:00' },
      user,
    ],
    tools: [{ type: 'function', ...pick }],
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } },
    reasoning: { effort: 'low' },
    metadata: { a: 'b' },
    edgecall,
  },
  '/runs': { input: [user], system: 'Be brief.', clientTools: [{ name: 'pick' }], toolChoice: 'auto', ...edgecall },
  '/conversations': { id: 'other', system: 'Be brief.', window: { messages: 5 }, ttlSeconds: 60 },
  '/conversations/kept/runs': { input: 'Hi', responseFormat: { type: 'text' }, onBusy: 'queue', ...edgecall },
  '/conversations/kept/fork': { at: 1 },
  '/chat': {
    id: 'chat',
    messages: [
      {
        id: 'm',
        role: 'user',
        parts: [...parts, { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,aGk=' }],
      },
    ],
    trigger: 'submit-message',
    edgecall,
  },
  '/ag-ui': {
    threadId: 'thread',
    runId: 'run',
    protocolVersion: '1.0',
    state: {},
    messages: [{ id: 'm', ...user }],
    tools: [pick],
    context: [{ description: 'a', value: 'b' }],
    forwardedProps: { edgecall },
    resume: [],
  },
  '/tools/clock/call': { arguments: { zone: 'UTC' }, context: { a: 1 } },
}

async function unrulyEdge(): Promise<KeptEdge> {
  const edge = keptEdge({ script: Array.from({ length: 5000 }, () => say('{}')), tools: [clock] })
  await edge.post('/conversations', { id: 'kept' })
  await edge.post('/conversations/kept/runs', { input: 'Hi' })
  return edge
}

/** Nothing for an answer that is as it should be: good, or refused in the form of its surface. */
async function fault(path: string, response: Response): Promise<unknown> {
  const { status, headers } = response
  const text = await response.text()
  if (status < 400) return undefined
  const body: unknown = JSON.parse(text)
  const isOpenAi = path.startsWith('/v1/')
  const errorObject = isObject(body) ? (isOpenAi ? body['error'] : body) : undefined
  const type = headers.get('content-type')
  const fits =
    isObject(errorObject) &&
    typeof errorObject['code'] === 'string' &&
    typeof errorObject[isOpenAi ? 'message' : 'detail'] === 'string' &&
    (isOpenAi ? typeof errorObject['type'] === 'string' && 'param' in errorObject : errorObject['status'] === status) &&
    type === (isOpenAi ? 'application/json' : 'application/problem+json')
  return fits && status < 500 ? undefined : { status, type, text }
}

const faultOf = async (edge: KeptEdge, path: string, init: RequestInit) =>
  fault(path, await edge.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, ...init }))

describe.each(Object.entries(BODIES))('bad input to %s', (path, body) => {
  const unfit = path.startsWith('/tools/') ? 422 : 400
  test.each<[string, RequestInit, number]>([
    ['nothing', {}, 400],
    ['half of it', { body: JSON.stringify(body).slice(0, -3) }, 400],
    ['a number', { body: '7' }, unfit],
    ['null', { body: 'null' }, unfit],
    ['a list', { body: '[]' }, unfit],
    ['what is not UTF-8', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 400],
    ['a deep one', { body: '['.repeat(5000) }, 400],
    ['a large one', { body: JSON.stringify({ ...body, more: 'x'.repeat(2 ** 20) }) }, 413],
    ['a form', { body: JSON.stringify(body), headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
  ])('such as %s is refused in the format of the surface', async (_name, init, status) => {
    const edge = await unrulyEdge()
    const response = await edge.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...init,
    })
    expect([response.status, await fault(path, response)]).toEqual([status, undefined])
    expect(edge.requests).toHaveLength(1)
  })

  test('with one bad member is refused in the format of the surface, or accepted', async () => {
    const edge = await unrulyEdge()
    expect(await faultOf(edge, path, { body: JSON.stringify(body) })).toBeUndefined()
    const places = placesOf(body)
    let count = 0
    const change = fc.record({
      at: fc.nat(places.length - 1),
      by: fc.oneof(
        fc.constant(undefined),
        fc.constantFrom(null, '', 'x', 0, -1, 1.5, 1e300, true, [], {}, [null], [[]], { type: 'x' }),
        fc.jsonValue(),
      ),
    })
    await fc.assert(
      fc.asyncProperty(change, async ({ at, by }) => {
        const changed = JSON.stringify(replaced(body, places[at] ?? [], by))
        const id = `c${count++}`
        // Each in a chat of its own: what went before is no concern of this.
        const text = changed.replace('"id":"chat"', `"id":"${id}"`).replace('"threadId":"thread"', `"threadId":"${id}"`)
        expect(await faultOf(edge, path, { body: text })).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})

describe('a client of a stored run', () => {
  const PIECES = 40
  const piece = '#'.repeat(100_000)
  const long = async function* (): AsyncGenerator<ModelEvent> {
    for (let at = 0; at < PIECES; at++) yield { type: 'text', text: piece }
    yield { type: 'finish', finish: 'stop' }
  }

  /** A long answer that is streamed, the bytes of it that have left its conversation, and whether they are still read. */
  async function streamed(): Promise<{ response: Response; count: () => number; isLeft: () => boolean }> {
    const edge = keptEdge({ script: [long], vars: { MAX_ANSWER_CHARACTERS: String(2 * PIECES * piece.length) } })
    await edge.post('/conversations', { id: 'long' })
    const object = edge.objects.get('v1/local/long')!
    const start = object.start.bind(object)
    let count = 0
    let isLeft = false
    object.start = async (request) => {
      const reply = await start(request)
      if (!reply.ok || !reply.stream) return reply
      const reader = reply.stream.getReader()
      const stream = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const { done, value } = await reader.read()
          if (done) return controller.close()
          count += value.length
          controller.enqueue(value)
        },
        cancel: async (reason) => {
          isLeft = true
          await reader.cancel(reason)
        },
      })
      return { ...reply, stream }
    }
    const init = { method: 'POST', headers: { 'content-type': 'application/json', 'x-conversation-id': 'long' } }
    const body = JSON.stringify({ messages: [user], stream: true, edgecall: { rounds: 'all' } })
    const response = await edge.fetch('/v1/chat/completions', { ...init, body })
    const run = `/conversations/long/runs/${response.headers.get('x-run-id')}`
    const status = async () => (await (await edge.fetch(run)).json<{ status: string }>()).status
    while (!isTerminal((await status()) as RunStatus)) await new Promise((resolve) => setImmediate(resolve))
    expect(await status()).toBe('completed')
    return { response, count: () => count, isLeft: () => isLeft }
  }

  test('that does not read fills no memory and misses nothing', async () => {
    const { response, count } = await streamed()
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(count()).toBeLessThan(2 * 2 ** 20)
    expect((await response.text()).match(/#+/g)?.join('')).toHaveLength(PIECES * piece.length)
  })

  test('that disconnects receives nothing more', async () => {
    const { response, isLeft } = await streamed()
    await response.body?.cancel()
    await eventually(() => expect(isLeft()).toBe(true))
  })
})

type Place = readonly (string | number)[]

/** Where the members of a value are, itself but for the whole. */
function placesOf(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [[...at, name], ...placesOf(member, [...at, name])])
}

/** A value with another member at a place; without one where it is undefined. */
function replaced(value: unknown, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? replaced(item, rest, by) : item))
  return isObject(value) ? { ...value, [name]: replaced(value[name], rest, by) } : value
}
