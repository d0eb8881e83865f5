import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { askQuestion } from '../../src/cli/ask.ts'
import { Stopped } from '../../src/cli/failure.ts'
import type { RunEvent } from '../../src/contract/event.ts'

const FINISHED = { type: 'run.finished', runId: 'r', seq: 2, status: 'completed', finish: 'stop', answer: 'Hi.' }

interface Exchange {
  readonly request: string
  readonly body: unknown
  readonly events: RunEvent[]
  readonly run: Promise<void>
}

/** Asks an edge that answers as `answer` says. */
async function askOne(
  answer: (response: ServerResponse) => void,
  signal = new AbortController().signal,
): Promise<Exchange> {
  let request = ''
  let body: unknown
  const server = createServer((incoming, response) => {
    void text(incoming).then((exchange) => {
      request = `${incoming.method} ${incoming.url} ${incoming.headers.accept} ${incoming.headers.authorization}`
      body = JSON.parse(exchange)
      answer(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const events: RunEvent[] = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = askQuestion({ url, key: 'ek_1' }, 'Hello', { onEvent: (event) => events.push(event), signal })
  await run.catch(() => {})
  return { request, body, events, run }
}

function stream(...events: object[]): (response: ServerResponse) => ServerResponse {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': alive\n\n')
    for (const event of events) response.write(`event: x\nid: r.1\ndata: ${JSON.stringify(event)}\n\n`)
    return response
  }
}

test('ask requests events with the time zone of this machine and passes them on', async () => {
  const delta = { type: 'text.delta', runId: 'r', seq: 1, step: 1, text: 'Hi.' }
  const { run, ...asked } = await askOne((response) => stream(delta, FINISHED)(response).end())
  await run
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  expect(asked).toEqual({
    request: 'POST /runs text/event-stream Bearer ek_1',
    body: { input: 'Hello', context: { timeZone } },
    events: [delta, FINISHED],
  })
})

test.each<[string, (response: ServerResponse) => void, string]>([
  [
    'was refused',
    (response) => response.writeHead(404).end('{"code":"unknown_model","detail":"There is no model x."}'),
    'The run was refused: There is no model x.',
  ],
  [
    'was refused without words',
    (response) => response.writeHead(500).end('Oops'),
    'The run was refused: HTTP 500 Oops',
  ],
  [
    'failed',
    (response) =>
      stream({ ...FINISHED, status: 'failed', finish: 'error', error: { code: 'e', message: 'No.' } })(response).end(),
    'The run failed: No.',
  ],
  ['ended early', (response) => stream()(response).end(), 'The answer ended before the run had finished.'],
  [
    'was cut',
    (response) => void stream()(response).write('data', () => response.destroy()),
    'The answer broke off: terminated',
  ],
])('ask reports why a run %s', async (_what, answer, message) => {
  const { run } = await askOne(answer)
  await expect(run).rejects.toThrow(message)
})

test('ask tells the operator where to look when the model cannot be reached', async () => {
  const hint = 'Check MODEL, and the …_API_KEY and …_BASE_URL of its provider.'
  const problem = '{"code":"model_unauthorized","detail":"The model provider refused the key of the edge."}'
  const refusal = await askOne((response) => response.writeHead(502).end(problem))
  await expect(refusal.run).rejects.toMatchObject({ hint })
  const error = { code: 'model_unreachable', message: 'The model server cannot be reached.' }
  const failed = await askOne((response) =>
    stream({ ...FINISHED, status: 'failed', finish: 'error', error })(response).end(),
  )
  await expect(failed.run).rejects.toMatchObject({ hint })
})

test('a signal ends ask with the reason of the signal', async () => {
  const stop = new AbortController()
  const { run } = await askOne((response) => {
    stream()(response)
    stop.abort(new Stopped('SIGINT'))
  }, stop.signal)
  await expect(run).rejects.toThrow(new Stopped('SIGINT'))
})
