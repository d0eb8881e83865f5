import { afterEach, expect, test, vi } from 'vitest'
import { say } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

afterEach(() => void vi.useRealTimers())

/** An edge whose model says nothing at all until it is let go. */
function silentEdge(): { readonly edge: KeptEdge; readonly letGo: () => void } {
  const gate = Promise.withResolvers<void>()
  const silent = async function* () {
    await gate.promise
    yield* say('Done.')
  }
  return { edge: keptEdge({ script: [silent, say('Also done.')] }), letGo: gate.resolve }
}

const EVENTS = { accept: 'text/event-stream' }

test.each([
  ['/chat/c/stream', '"type":"finish"'],
  ['/conversations/c/runs/RUN/events', 'run.finished'],
  ['/conversations/c/runs/RUN/events?format=ui-message', '"type":"finish"'],
  ['/conversations/c/runs/RUN/events?format=ag-ui', 'RUN_FINISHED'],
  ['/v1/responses/RESPONSE?stream=true', 'response.completed'],
])('the stream of a run whose model is silent so far begins at once: %s', async (path, end) => {
  const { edge, letGo } = silentEdge()
  await edge.post('/conversations', { id: 'c' })
  const started = await edge.post('/v1/responses', { input: 'Go', background: true, conversation: 'c' })
  const { id } = await started.json<{ id: string }>()
  const run = started.headers.get('x-run-id') ?? ''
  const response = await edge.fetch(path.replace('RUN', run).replace('RESPONSE', id), { headers: EVENTS })
  expect({ status: response.status, run: response.headers.get('x-run-id') }).toEqual({ status: 200, run })
  letGo()
  expect(await response.text()).toContain(end)
})

test.each(['ui-message', 'ag-ui'])('the events of a run that is not there have an error status: %s', async (format) => {
  const { edge } = silentEdge()
  await edge.post('/conversations', { id: 'c' })
  const path = `/conversations/c/runs/run_0000000000000000000000/events?format=${format}`
  const { status, ...response } = await edge.fetch(path).then(async (answer) => ({
    status: answer.status,
    ...(await answer.json<{ code: string }>()),
  }))
  expect([status, response.code]).toEqual([404, 'unknown_run'])
})

test('the stream of a stored run that is queued begins with the first sign of life', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { edge, letGo } = silentEdge()
  await edge.post('/conversations', { id: 'c' })
  const first = await edge.post('/conversations/c/runs', { input: 'Go' }, { prefer: 'respond-async' })
  expect(first.status).toBe(202)
  let response: Response | undefined
  const answer = edge
    .post('/conversations/c/runs?format=ui-message', { input: 'And?', onBusy: 'queue' })
    .then((each) => (response = each))
  await settle()
  expect(response).toBeUndefined()
  vi.advanceTimersByTime(15_000)
  expect((await answer).status).toBe(200)
  letGo()
  const text = await (await answer).text()
  expect(text.slice(0, 10)).toBe(': alive\n\nd')
  expect(text).toContain('"delta":"Also done."')
})
