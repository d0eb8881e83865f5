import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { webhookSender } from '../../src/conversation/run/webhook.ts'
import { queueTrigger, type TriggerStart } from '../../src/triggers/triggers.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, withKeys } from '../fixtures/keys.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { tool } from '../fixtures/play.ts'
import { ctx, triggeredEdge } from './triggered-edge.ts'

const NOW = Date.parse('2026-01-01T08:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
afterEach(() => void vi.useRealTimers())

/** A trigger whose answers go somewhere. */
function answering(answerTo: NonNullable<TriggerStart['answerTo']>, parts: Parameters<typeof triggeredEdge>[1] = {}) {
  const start = () => ({ run: { input: 'Check this order.' }, answerTo })
  const edge = triggeredEdge({ orders: queueTrigger({ queue: 'orders', as: 'orders', start }) }, parts)
  const [ack, retry] = [vi.fn(), vi.fn()]
  const deliver = async () => {
    await edge.handlers.queue({ queue: 'orders', messages: [{ id: 'm1', body: 7, attempts: 1, ack, retry }] }, {}, ctx)
    expect([ack.mock.calls.length, retry.mock.calls.length]).toEqual([1, 0])
  }
  /** Lets the time pass in which an answer that was not accepted is sent again. */
  const later = async () => {
    vi.setSystemTime(Date.now() + 60 * 60_000)
    await edge.own.settle()
  }
  return { ...edge, deliver, later }
}

test('an answer goes to a tool, as the key of the trigger, again until it succeeds, and always as the same call', async () => {
  const calls: unknown[] = []
  let failures = 2
  const save = tool('save', (args, { caller, idempotencyKey }) => {
    calls.push({ args, caller, idempotencyKey })
    if (failures-- > 0) return { ok: false, error: { code: 'busy', message: 'Later.', retryable: true } }
    return 'saved'
  })
  const vars = withKeys(apiKey('o', { id: 'orders', tenant: 'acme', scopes: ['chat'] }))
  const { deliver, later, reports } = answering(
    { tool: 'save', arguments: { order: 7 }, answer: 'text' },
    { tools: [save], vars },
  )
  await deliver()
  await eventually(() => expect(calls).toHaveLength(1))
  for (let time = 0; time < 4; time++) await later()
  const call = {
    args: { order: 7, text: 'Done.' },
    caller: { tenant: 'acme', key: 'orders', scopes: ['chat'] },
    idempotencyKey: expect.any(String),
  }
  expect(calls).toEqual([call, call, call])
  expect(new Set(calls.map((each) => (each as typeof call).idempotencyKey)).size).toBe(1)
  expect(reports.filter(({ event }) => event !== 'call.failed')).toMatchObject([
    { event: 'report.failed', detail: 'busy: Later.' },
    { event: 'report.failed', detail: 'busy: Later.' },
  ])
})

test('an answer to a tool that asks for a pause waits for so long', async () => {
  const times: number[] = []
  const save = tool('save', () => {
    times.push(Math.floor((Date.now() - NOW) / (60 * 60_000)))
    if (times.length > 1) return 'saved'
    return { ok: false, error: { code: 'busy', message: 'Later.', retryable: true, retryAfterMs: 2.5 * 60 * 60_000 } }
  })
  const { deliver, later } = answering({ tool: 'save', answer: 'text' }, { tools: [save] })
  await deliver()
  await eventually(() => expect(times).toHaveLength(1))
  for (let time = 0; time < 4; time++) await later()
  // In hours: it is tried once an hour.
  expect(times).toEqual([0, 3])
})

test.each([
  [
    'that fails for good',
    [tool('save', () => ({ ok: false, error: { code: 'closed', message: 'Closed.' } }))],
    'closed: Closed.',
  ],
  [
    'that a person must approve',
    [tool('save', () => 'saved', { approval: 'always' })],
    expect.stringContaining('approval_needs_conversation'),
  ],
])('an answer to a tool %s is given up, and the log says why', async (_, tools, detail) => {
  const { own, deliver, later, reports } = answering({ tool: 'save', answer: 'text' }, { tools })
  const notSent = () => reports.filter(({ event }) => event === 'answer.not_sent')
  await deliver()
  await eventually(async () => {
    await own.settle()
    expect(notSent()).toHaveLength(1)
  })
  await later()
  expect(notSent()).toMatchObject([{ to: 'tool', runId: expect.any(String), detail }])
})

test('a webhook gets the signed message of the run, again until it is accepted', async () => {
  const messages: { readonly headers: any; readonly body: any }[] = []
  const server = await startModelServer(({ headers, body }) => {
    messages.push({ headers, body })
    return { status: messages.length < 2 ? 503 : 200, body: {} }
  })
  const secret = 'a secret of the edge'
  const webhooks = webhookSender({ secret, hosts: [], isOpen: true, report: () => {} })
  const webhook = server.baseUrl
  const { deliver, later, conversations } = answering({ webhook }, { setup: { webhooks } })
  await deliver()
  await eventually(() => expect(messages).toHaveLength(1))
  for (let time = 0; time < 3; time++) await later()
  await server.close()
  const conversation = conversations()[0]?.replace('local/', '')
  expect(messages).toHaveLength(2)
  for (const { headers, body } of messages) {
    expect(body).toMatchObject({ type: 'run.finished', data: { status: 'completed', conversation } })
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = headers
    expect(id).toBe(`${body.data.run}.answer`)
    const text = `${id}.${time}.${JSON.stringify(body)}`
    expect(signature).toBe(`v1,${createHmac('sha256', secret).update(text).digest('base64')}`)
  }
})

test('a webhook that may not be notified starts no run', async () => {
  const start = () => ({ run: { input: 'x' }, answerTo: { webhook: 'https://other.test/' } })
  const { own, handlers, reports } = triggeredEdge({ orders: queueTrigger({ queue: 'orders', as: 'orders', start }) })
  const [ack, retry] = [vi.fn(), vi.fn()]
  await handlers.queue({ queue: 'orders', messages: [{ id: 'm1', body: 7, attempts: 1, ack, retry }] }, {}, ctx)
  expect([ack.mock.calls.length, retry.mock.calls.length, own.objects.size]).toEqual([0, 1, 0])
  expect(reports).toMatchObject([{ event: 'trigger.not_started', detail: 'This edge sends no webhooks.' }])
})
