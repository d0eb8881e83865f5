import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createEdge, triggers } from 'edgecall'
import { cronTrigger, queueTrigger, type WebhookEvent, webhookTrigger } from '../../src/triggers/triggers.ts'
import { githubWebhooks, slackWebhooks, standardWebhooks, stripeWebhooks } from '../../src/triggers/services.ts'
import type { WebhookScheme } from '../../src/triggers/verify.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ctx, SECRET, triggeredEdge } from './triggered-edge.ts'

const NOW = Date.parse('2026-01-01T08:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
afterEach(() => void vi.useRealTimers())

const hex = (text: string, secret = SECRET) => createHmac('sha256', secret).update(text).digest('hex')
const base64 = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64')
const seconds = (time = Date.now()) => String(Math.floor(time / 1000))

interface SignedCase {
  readonly scheme: WebhookScheme
  readonly body: string
  readonly sign: (body: string, time: string) => Record<string, string>
  /** Whether the signature is of a time. */
  readonly isTimed: boolean
}

const CASES: Readonly<Record<string, SignedCase>> = {
  'Standard Webhooks': {
    scheme: standardWebhooks('HOOK_SECRET'),
    body: '{"type":"invoice.paid"}',
    sign: (body, time) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': time,
      'webhook-signature': `v1a,x v1,${base64(`msg_1.${time}.${body}`)}`,
    }),
    isTimed: true,
  },
  GitHub: {
    scheme: githubWebhooks('HOOK_SECRET'),
    body: '{"action":"opened"}',
    sign: (body) => ({ 'x-hub-signature-256': `sha256=${hex(body)}` }),
    isTimed: false,
  },
  Stripe: {
    scheme: stripeWebhooks('HOOK_SECRET'),
    body: '{"id":"evt_1"}',
    sign: (body, time) => ({ 'stripe-signature': `t=${time},v1=${hex('x')},v1=${hex(`${time}.${body}`)},v0=y` }),
    isTimed: true,
  },
  Slack: {
    scheme: slackWebhooks('HOOK_SECRET'),
    body: '{"event_id":"Ev1"}',
    sign: (body, time) => ({
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hex(`v0:${time}:${body}`)}`,
    }),
    isTimed: true,
  },
}

describe.each(Object.entries(CASES))('a webhook of %s', (_, { scheme, body, sign, isTimed }) => {
  const hooked = () => {
    const events: WebhookEvent[] = []
    const start = (event: WebhookEvent) => {
      events.push(event)
      return { run: { input: event.text } }
    }
    return { events, ...triggeredEdge({ hook: webhookTrigger({ scheme, as: 'hook', start }) }) }
  }

  test('starts one run, however often it is delivered', async () => {
    const { own, post, events } = hooked()
    const first = await post('hook', body, sign(body, seconds()))
    const acceptance = { status: 202, body: { run: expect.any(String), conversation: expect.any(String) } }
    expect(first).toEqual(scheme.acknowledge ? { status: 200, body: '' } : acceptance)
    vi.setSystemTime(NOW + 60_000)
    expect(await post('hook', body, sign(body, seconds()))).toEqual(first)
    expect(events.map((event) => event.body)).toEqual(Array.from({ length: 2 }, () => JSON.parse(body)))
    expect(own.objects.size).toBe(1)
    expect(own.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([body])
  })

  test('starts nothing unless it is signed with one of the secrets, as it is', async () => {
    const { own, post, events } = hooked()
    const signature = sign(body, seconds())
    const refusal = { status: 401, body: expect.objectContaining({ code: 'invalid_signature' }) }
    expect(await post('hook', body)).toEqual(refusal)
    expect(await post('hook', `${body} `, signature)).toEqual(refusal)
    for (const name of Object.keys(signature)) {
      expect(await post('hook', body, { ...signature, [name]: '' })).toEqual(refusal)
      const other = signature[name]?.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0')) ?? ''
      expect(await post('hook', body, { ...signature, [name]: other })).toEqual(refusal)
    }
    expect([events, own.objects.size]).toEqual([[], 0])
  })

  test('starts nothing if its signature is older than five minutes, or of the future', async () => {
    if (!isTimed) return
    const { own, post } = hooked()
    const at = async (ms: number) => (await post('hook', body, sign(body, seconds(NOW + ms)))).status
    expect([await at(-301_000), await at(301_000), await at(-299_000)]).toEqual([
      401,
      401,
      scheme.acknowledge ? 200 : 202,
    ])
    expect(own.objects.size).toBe(1)
  })
})

test('a webhook that starts nothing gets 204, and only webhooks have an address', async () => {
  const { post } = triggeredEdge({
    hook: webhookTrigger({ scheme: githubWebhooks('HOOK_SECRET'), as: 'x', start: () => undefined }),
    nightly: cronTrigger({ cron: '0 2 * * *', as: 'x', start: () => undefined }),
  })
  const signature = CASES['GitHub']?.sign('{}', '') ?? {}
  expect((await post('hook', '{}', signature)).status).toBe(204)
  for (const name of ['nightly', 'none', '__proto__']) expect((await post(name, '{}', signature)).status).toBe(404)
})

test('webhooks with the same secret, in whatever variable and scheme, are reported when the edge starts', async () => {
  const lines: unknown[] = []
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(JSON.parse(line)))
  onTestFinished(() => void vi.restoreAllMocks())
  const start = () => undefined
  const hook = (scheme: WebhookScheme) => webhookTrigger({ scheme, as: 'x', start })
  const table = {
    code: hook(githubWebhooks('GITHUB')),
    money: hook(stripeWebhooks('STRIPE')),
    talk: hook(slackWebhooks('SLACK')),
    empty: hook(slackWebhooks('NONE')),
    void: hook(slackWebhooks('MISSING')),
  }
  const nobody = { getByName: () => expect.unreachable() }
  const env = { GITHUB: `old, ${SECRET}`, STRIPE: SECRET, SLACK: 'another secret', NONE: '', AUTH: 'open' }
  const edge = createEdge({ providers: {}, use: [triggers(table)] })
  const request = new Request('http://127.0.0.1:8787/health')
  expect((await edge.fetch(request, { ...env, CONVERSATIONS: nobody, DIRECTORIES: nobody })).status).toBe(200)
  expect(lines).toEqual([{ event: 'trigger.shared_secret', triggers: ['code', 'money'] }])
})

test('a request for one webhook is refused by another with a secret of its own', async () => {
  const started: string[] = []
  const hook = (secret: string) =>
    webhookTrigger({ scheme: githubWebhooks(secret), as: 'x', start: () => void started.push(secret) })
  const { post, reports } = triggeredEdge(
    { own: hook('OWN'), other: hook('OTHER') },
    { env: { OWN: SECRET, OTHER: `${SECRET} of another` } },
  )
  const signature = CASES['GitHub']?.sign('{}', '') ?? {}
  expect([(await post('own', '{}', signature)).status, (await post('other', '{}', signature)).status]).toEqual([
    204, 401,
  ])
  expect([started, reports]).toEqual([['OWN'], []])
})

describe('a queue', () => {
  const messageOf = (id: string, body: unknown) => ({ id, body, attempts: 1, ack: vi.fn(), retry: vi.fn() })
  const orders = (start: (event: { body: unknown }) => any) => ({
    orders: queueTrigger({ queue: 'orders', as: 'orders', start }),
  })

  test('has each message acknowledged by itself once its run is accepted, and starts one run for each id', async () => {
    const { own, handlers, reports } = triggeredEdge(
      orders(({ body }: any) => {
        if (body === 'throw') throw new Error('no such order')
        if (body === 'ignore') return undefined
        return { run: body === 'bad' ? { input: 'x', limits: { steps: 0 } } : { input: body }, conversation: 'orders' }
      }),
    )
    const messages = ['first', 'throw', 'ignore', 'bad', 'last'].map((body, index) => messageOf(`m${index}`, body))
    await handlers.queue({ queue: 'orders', messages }, {}, ctx)
    const count = (name: 'ack' | 'retry') => messages.map((message) => message[name].mock.calls.length)
    expect([count('ack'), count('retry')]).toEqual([
      [1, 0, 1, 0, 1],
      [0, 1, 0, 1, 0],
    ])
    expect(reports).toMatchObject([
      { event: 'trigger.failed', source: 'triggers/orders' },
      { event: 'trigger.not_started', source: 'triggers/orders', code: 'invalid_request' },
    ])
    await handlers.queue({ queue: 'orders', messages: [messageOf('m0', 'first')] }, {}, ctx)
    const runs: any = await (await own.fetch('/conversations/orders/runs')).json()
    expect(runs).toHaveLength(2)
    // The conversation was made and listed.
    expect(await (await own.fetch('/conversations')).json()).toEqual([{ id: 'orders' }])
  })

  test('without a trigger fails, so that its messages are delivered again', async () => {
    const { handlers } = triggeredEdge({})
    await expect(handlers.queue({ queue: 'other', messages: [] }, {}, ctx)).rejects.toThrow(
      'No trigger is for the queue',
    )
  })
})

describe('a time of a cron trigger', () => {
  const nightly = {
    nightly: cronTrigger({ cron: '0 2 * * *', as: 'nightly', start: () => ({ run: { input: 'Tidy up.' } }) }),
  }

  test('starts one run, as the key that is named, also if it comes twice', async () => {
    const vars = withKeys(apiKey('n', { id: 'nightly', tenant: 'ops', scopes: ['chat'] }))
    const { own, handlers, conversations } = triggeredEdge(nightly, { vars })
    for (let time = 0; time < 2; time++) await handlers.scheduled({ cron: '0 2 * * *', scheduledTime: NOW }, {}, ctx)
    await handlers.scheduled({ cron: '0 3 * * *', scheduledTime: NOW }, {}, ctx)
    expect(conversations()).toEqual([expect.stringMatching(/^ops\/conv_/)])
    expect(own.requests).toHaveLength(1)
  })

  test('starts nothing in a conversation that somebody has made in advance', async () => {
    const vars = withKeys(
      apiKey('n', { id: 'nightly', tenant: 'ops', scopes: ['chat'] }),
      apiKey('m', { tenant: 'ops' }),
    )
    const time = { cron: '0 2 * * *', scheduledTime: NOW }
    const before = triggeredEdge(nightly, { vars })
    await before.handlers.scheduled(time, {}, ctx)
    const id = before.conversations()[0]?.replace('ops/', '')
    const { own, handlers, reports } = triggeredEdge(nightly, { vars })
    expect(await own.post('/conversations', { id }, bearer('m'))).toMatchObject({ status: 201 })
    await expect(handlers.scheduled(time, {}, ctx)).rejects.toThrow('conversation_exists')
    expect(reports).toMatchObject([{ event: 'trigger.not_started', code: 'conversation_exists' }])
    expect(own.requests).toEqual([])
  })

  test('fails and is logged if the key is not there or may start no run', async () => {
    const { handlers, conversations, reports } = triggeredEdge(nightly, {
      vars: withKeys(apiKey('n', { id: 'other' })),
    })
    const time = { cron: '0 2 * * *', scheduledTime: NOW }
    await expect(handlers.scheduled(time, {}, ctx)).rejects.toThrow('There is no API key with the id "nightly".')
    expect(reports).toMatchObject([{ event: 'trigger.not_started', code: 'run_not_allowed', because: 'forbidden' }])
    const scopeless = triggeredEdge(nightly, { vars: withKeys(apiKey('n', { id: 'nightly', scopes: [] })) })
    await expect(scopeless.handlers.scheduled(time, {}, ctx)).rejects.toThrow('run_not_allowed')
    expect([conversations(), scopeless.conversations()]).toEqual([[], []])
  })
})

test('an event cannot name a conversation that no caller may name', async () => {
  const start = ({ body }: any) => ({ run: { input: 'x' }, conversation: body.id })
  const { own, post } = triggeredEdge({
    hook: webhookTrigger({ scheme: githubWebhooks('HOOK_SECRET'), as: 'x', start }),
  })
  for (const id of ['~run_1', '../other', '']) {
    const body = JSON.stringify({ id })
    const reply = await post('hook', body, CASES['GitHub']?.sign(body, ''))
    expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_conversation_id' } })
  }
  expect(own.objects.size).toBe(0)
})
