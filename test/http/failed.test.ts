import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const failing: ModelEvent[] = [
  { type: 'error', error: { code: 'model_unavailable', message: 'Gone.', retryable: false } },
]
const messages = [{ role: 'user', content: 'Go', parts: [{ type: 'text', text: 'Go' }] }]

/** What asks in the conversation "c", and wants a run's answer whole or as it comes. */
const REQUESTS: readonly [path: string, body: object][] = [
  ['/conversations/c/runs', { input: 'Go' }],
  ['/conversations/c/runs?format=ui-message', { input: 'Go' }],
  ['/v1/chat/completions', { messages, edgecall: { conversation: 'c' } }],
  ['/v1/chat/completions', { messages, edgecall: { conversation: 'c' }, stream: true }],
  ['/v1/responses', { input: 'Go', conversation: 'c' }],
  ['/chat', { id: 'c', messages }],
]

describe('the response of a failed run has the headers of every run', () => {
  test.each(REQUESTS)('%s %j', async (path, body) => {
    const edge = keptEdge({ script: [failing] })
    await edge.post('/conversations', { id: 'c' })
    const response = await edge.post(path, body)
    const [run] = await (await edge.fetch('/conversations/c/runs')).json<any[]>()
    expect([response.status, response.headers.get('x-run-id'), response.headers.get('x-conversation-id')]).toEqual([
      502,
      run.id,
      'c',
    ])
  })

  test('when its Idempotency-Key is sent again', async () => {
    const edge = keptEdge({ script: [failing] })
    const headers = { 'idempotency-key': 'once' }
    const results = []
    for (const path of ['/v1/chat/completions', '/v1/chat/completions']) {
      const response = await edge.post(path, { messages }, headers)
      results.push([response.status, response.headers.get('x-run-id'), response.headers.get('idempotent-replayed')])
    }
    expect(results).toEqual([
      [502, results[0]?.[1], null],
      [502, expect.stringMatching(/^run_/), 'true'],
    ])
  })

  test('when the wait has elapsed, with its location', async () => {
    const edge = keptEdge({ script: [say('Late.')] })
    await edge.post('/conversations', { id: 'c' })
    const response = await edge.post('/conversations/c/runs', { input: 'Go' }, { prefer: 'wait=0' })
    const { runId } = await response.json<any>()
    const { status, headers } = response
    expect([status, headers.get('x-run-id'), headers.get('x-conversation-id'), headers.get('location')]).toEqual([
      504,
      runId,
      'c',
      `/conversations/c/runs/${runId}`,
    ])
  })
})
