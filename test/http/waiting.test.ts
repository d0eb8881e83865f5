import { describe, expect, test } from 'vitest'
import { gatedTool } from '../fixtures/gated.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

const danger = tool('danger', () => 'boom', { approval: 'always' })
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
const user = (text: string) => ({ id: 'm', role: 'user', content: text, parts: [{ type: 'text', text }] })

/** How each surface says something in the conversation "c". */
const SURFACES: Readonly<Record<string, (edge: KeptEdge, text: string, edgecall?: object) => Promise<Response>>> = {
  '/chat': (edge, text, edgecall = {}) => edge.post('/chat', { id: 'c', messages: [user(text)], edgecall }),
  '/ag-ui': (edge, text, edgecall = {}) =>
    edge.post('/ag-ui', { threadId: 'c', runId: 'r', messages: [user(text)], forwardedProps: { edgecall } }),
  '/v1/chat/completions': (edge, text, edgecall = {}) =>
    edge.post(
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: text }], edgecall },
      { 'x-conversation-id': 'c' },
    ),
  '/v1/responses': (edge, text, edgecall = {}) =>
    edge.post('/v1/responses', { input: text, conversation: 'c', edgecall }),
}

/** An edge whose conversation "c" has a run that waits for a person, and for its caller. */
async function waitingEdge() {
  const edge = keptEdge({ script: [ask(['danger'], ['pick']), say('Done.'), say('More.')], tools: [danger] })
  await edge.post('/conversations', { id: 'c' })
  const run = await (await edge.post('/conversations/c/runs', { input: 'Go', clientTools: [pick] })).json<any>()
  expect(run.status).toBe('waiting')
  const url = `/conversations/c/runs/${run.id}`
  return { edge, run, url }
}

const statusesOf = async (edge: KeptEdge) =>
  (await (await edge.fetch('/conversations/c/runs')).json<any[]>()).map(({ status }) => status)

describe.each(Object.entries(SURFACES))('a message on %s', (path, send) => {
  test('is refused with instructions while a run waits for an approval, and is not stored', async () => {
    const { edge, run, url } = await waitingEdge()
    const [first, second] = run.calls.map(({ id }: { id: string }) => `POST ${url}/calls/${id}`)
    const message = `The run ${run.id} is waiting: answer "danger" (${first}) and "pick" (${second}), or POST ${url}/cancel, then send this request again.`
    const refusal = await send(edge, 'And?')
    expect([refusal.status, refusal.headers.get('x-should-retry'), await refusal.json()]).toEqual([
      409,
      'false',
      path.startsWith('/v1/')
        ? { error: { message, type: 'invalid_request_error', param: null, code: 'run_waiting' } }
        : { status: 409, code: 'run_waiting', detail: message, runId: run.id, run },
    ])
    expect(await statusesOf(edge)).toEqual(['waiting'])

    const [danger, pick] = run.calls
    await edge.post(`${url}/calls/${danger.id}`, { decision: 'approve' })
    expect((await send(edge, 'And?')).status).toBe(409)
    await edge.post(`${url}/calls/${pick.id}`, { result: 'left' })
    const answer = await send(edge, 'And now?')
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('More.')])
    expect(edge.requests.at(-1)?.messages.map(({ content }) => content)).not.toContain('And?')
  })

  test('is answered after the run has been cancelled', async () => {
    const { edge, url } = await waitingEdge()
    await edge.post(`${url}/cancel`, {})
    expect([(await send(edge, 'And?')).status, await statusesOf(edge)]).toEqual([200, ['cancelled', 'completed']])
  })

  test('interrupts a run in progress, unless it asks to be queued behind it', async () => {
    for (const edgecall of [{}, { onBusy: 'queue' }]) {
      const { slow, start, letGo } = gatedTool()
      const edge = keptEdge({ script: [ask(['slow']), say('Done.'), say('More.')], tools: [slow] })
      await edge.post('/conversations', { id: 'c' })
      await edge.post('/conversations/c/runs', { input: 'Go' }, { prefer: 'respond-async' })
      await start
      const answer = send(edge, 'And?', edgecall)
      while ((await statusesOf(edge)).length < 2);
      if ('onBusy' in edgecall) expect(await statusesOf(edge)).toEqual(['running', 'queued'])
      letGo()
      expect(await (await answer).text()).toContain('onBusy' in edgecall ? 'More.' : 'Done.')
      expect(await statusesOf(edge)).toEqual(['onBusy' in edgecall ? 'completed' : 'cancelled', 'completed'])
    }
  })
})

test.each(['/chat', '/ag-ui'])('a message on %s may set onBusy for a run that waits', async (path) => {
  const { edge } = await waitingEdge()
  const answer = await SURFACES[path]!(edge, 'And?', { onBusy: 'interrupt' })
  expect([answer.status, await statusesOf(edge)]).toEqual([200, ['cancelled', 'completed']])
})

test('a native run is queued behind a run that waits', async () => {
  const { edge, url } = await waitingEdge()
  const queued = await edge.post('/conversations/c/runs', { input: 'And?' }, { prefer: 'respond-async' })
  expect([queued.status, await statusesOf(edge)]).toEqual([202, ['waiting', 'queued']])
  await edge.post(`${url}/cancel`, {})
  await edge.settle()
})

test('a response that continues a waiting one is refused, and a branch from an earlier one is not', async () => {
  const edge = keptEdge({ script: [say('One.'), ask(['danger']), say('Other.')], tools: [danger] })
  const respond = async (body: object) => (await edge.post('/v1/responses', body)).json<any>()
  const first = await respond({ input: 'First' })
  const second = await respond({ input: 'Second', previous_response_id: first.id })
  const third = await respond({ input: 'Third', previous_response_id: second.id })
  expect(third.error).toMatchObject({ code: 'run_waiting' })
  const other = await respond({ input: 'Other', previous_response_id: first.id })
  expect(other.output).toMatchObject([{ content: [{ text: 'Other.' }] }])
})

describe('a client that disconnects before its answer is complete', () => {
  const never = new Promise<void>(() => {})
  const headers = { 'content-type': 'application/json' }

  /** Sends a request whose client disconnects once the model speaks. Returns what became of the run. */
  async function runOfLostClient(path: string, json: object): Promise<any> {
    const abort = new AbortController()
    const edge = keptEdge({
      script: [
        async function* () {
          yield { type: 'text', text: 'One ' }
          abort.abort()
          await never
        },
      ],
    })
    await edge.post('/conversations', { id: 'c' })
    void edge.fetch(path, { method: 'POST', headers, body: JSON.stringify(json), signal: abort.signal })
    const runs = async () => (await edge.fetch('/conversations/c/runs')).json<any>()
    await new Promise((resolve) => abort.signal.addEventListener('abort', resolve))
    if (!JSON.stringify(json).includes('cancelOnDisconnect":true')) return (await runs())[0]
    await expect.poll(runs).toMatchObject([{ status: 'cancelled' }])
    return (await runs())[0]
  }

  test.each([
    ['/conversations/c/runs', { input: 'Count.', cancelOnDisconnect: true }],
    ['/v1/responses', { input: 'Count.', conversation: 'c', edgecall: { cancelOnDisconnect: true } }],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Count.' }], edgecall: { conversation: 'c', cancelOnDisconnect: true } },
    ],
  ])('cancels the run of %s, if it asked for that', async (path, json) => {
    expect(await runOfLostClient(path, json)).toMatchObject({ status: 'cancelled' })
  })

  test('leaves the run under way by default', async () => {
    expect(await runOfLostClient('/conversations/c/runs', { input: 'Count.' })).toMatchObject({ status: 'running' })
  })
})
