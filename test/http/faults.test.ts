import { describe, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { secretFilter } from '../../src/contract/secrets.ts'
import { failure } from '../../src/contract/tool.ts'
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from '../security/controlled-edge.ts'
import { keptEdge } from './kept-edge.ts'

const ADMIN = 'ops: chat tools:admin'
const CALLER = 'ops: chat tools:read'
const OTHER = 'acme: chat tools:admin'
const REASON = 'ECONNREFUSED 10.0.0.7'
const OVERLOADED: ModelEvent[] = [
  {
    type: 'error',
    error: { code: 'model_rejected', message: 'Your account is closed.', status: 401, retryable: false },
  },
]

function bankEdge(script: readonly Script[]) {
  return controlledEdge({
    workers: { TOOL_BANK: [tool('pay', () => failure('tool_failed', 'It failed.', REASON))] },
    script,
    keys: [ADMIN, CALLER, OTHER],
    vars: { TOOL_SEARCH: 'off' },
  })
}

/** Runs once in a conversation of its own. Returns the path of the run. */
async function run(edge: ReturnType<typeof bankEdge>): Promise<string> {
  await edge.as(ADMIN)('/conversations', { json: { id: 'c' } })
  const { body } = await edge.as(ADMIN)('/conversations/c/runs', { json: { input: 'Pay' } })
  return `/conversations/c/runs/${body.id ?? body.runId}`
}

describe('GET /conversations/{id}/runs/{run}/faults', () => {
  test('returns why a call failed, which neither the events nor the record of the run tell', async () => {
    const edge = bankEdge([ask(['pay']), say('It did not work.')])
    const path = await run(edge)
    const { body } = await edge.as(ADMIN)(`${path}/faults`)
    expect(body).toEqual({
      faults: [
        {
          ...{ at: expect.any(Number), step: 1, tool: 'pay', callId: expect.any(String) },
          ...{ code: 'tool_failed', attempts: 1, durationMs: expect.any(Number), detail: REASON },
        },
      ],
    })
    const record = await edge.as(ADMIN)(path)
    const messages = await edge.as(ADMIN)('/conversations/c/messages')
    const events = await edge.as(ADMIN)(`${path}/events`)
    for (const answer of [record, messages, events]) {
      expect(answer.status).toBe(200)
      expect(JSON.stringify(answer.body)).not.toContain(REASON)
    }
  })

  test('returns why a model failed, with the status of its provider', async () => {
    const edge = bankEdge([OVERLOADED])
    const { body } = await edge.as(ADMIN)(`${await run(edge)}/faults`)
    expect(body.faults).toEqual([
      {
        ...{ at: expect.any(Number), step: 1, model: 'test/scripted', code: 'model_rejected', status: 401 },
        ...{ isRetried: false, attempts: 1, durationMs: expect.any(Number), detail: 'Your account is closed.' },
      },
    ])
  })

  test('returns an empty list for a run without faults', async () => {
    const edge = bankEdge([say('Hello.')])
    expect((await edge.as(ADMIN)(`${await run(edge)}/faults`)).body).toEqual({ faults: [] })
  })

  test('refuses keys without tools:admin, other tenants, and unknown runs', async () => {
    const edge = bankEdge([ask(['pay']), say('It did not work.')])
    const path = await run(edge)
    const answers = [
      await edge.as(CALLER)(`${path}/faults`),
      await edge.as(OTHER)(`${path}/faults`),
      await edge.as(ADMIN)('/conversations/c/runs/run_none/faults'),
    ]
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, 'missing_scope'],
      [404, 'unknown_conversation'],
      [404, 'unknown_run'],
    ])
  })
})

test('a stored fault has none of the secrets of the edge, and at most 4,000 characters of detail', async () => {
  const secret = 'sk-0123456789abcdef'
  const script = [ask(['pay']), say('It did not work.')]
  const tools = [tool('pay', () => failure('tool_failed', 'It failed.', `${secret} ${'x'.repeat(5000)}`))]
  const secrets = secretFilter([secret])
  const edge = keptEdge({ script, tools, setup: { report: vi.fn(), ...(secrets && { secrets }) } })
  await edge.post('/conversations', { id: 'c' })
  const { id }: any = await (await edge.post('/conversations/c/runs', { input: 'Pay' })).json()
  const answer = await edge.fetch(`/conversations/c/runs/${id}/faults`)
  const { faults }: any = await answer.json()
  expect(faults.map(({ detail }: any) => detail)).toEqual([`[redacted] ${'x'.repeat(3989)}`])
})
