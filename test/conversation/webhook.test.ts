import { createHmac } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'
import { failure } from '../../src/contract/tool.ts'
import { mayNotify, webhookSender } from '../../src/conversation/run/webhook.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { runId, TestConversation } from './object.ts'

interface Received {
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

const SECRET = `whsec_${Buffer.from('a secret of many bytes').toString('base64')}`
const BEGIN = Date.parse('2026-01-01T00:00:00Z')

let server: Server
let url: string
let received: Received[]
let status: number

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: BEGIN })
  received = []
  status = 200
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push({ headers: request.headers, body })
    response.writeHead(status, { connection: 'close', location: url }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
})
afterEach(async () => {
  vi.useRealTimers()
  await new Promise((resolve) => server.close(resolve))
})

async function notified(conversation: TestConversation): Promise<TestConversation> {
  conversation.webhook = { secret: SECRET, hosts: [] }
  conversation.live()
  await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: { webhook: url } })
  return conversation
}

const quiet = () => new TestConversation(() => say('Done.'), [], { AUTH: 'open' })

describe('a webhook', () => {
  test('is sent before those of later events, with at most nine others in one invocation', async () => {
    const conversation = await notified(quiet())
    for (let name = 0; name < 25; name += 1) await conversation.run(name)
    const counts: number[] = []
    for (let rings = 0; rings < 3; rings += 1) {
      await conversation.ring()
      counts.push(received.length)
    }
    expect(counts).toEqual([10, 20, 25])
    const runs = received.map(({ body }) => JSON.parse(body).data.run as string)
    expect([runs.slice(0, 10), runs.slice(10, 20), runs.slice(20)].flatMap((each) => each.toSorted())).toEqual(
      Array.from({ length: 25 }, (_, name) => runId(name)),
    )
  })

  test('is sent beside four others, while usage is reported, since a host may take its time', async () => {
    const conversation = await notified(quiet())
    const caller = { tenant: 'acme', key: '0123456789ab', scopes: ['chat'] }
    let counted = 0
    const isCounted = Promise.withResolvers<void>()
    conversation.count = () => {
      counted += 1
      if (counted === 5) isCounted.resolve()
    }
    for (let name = 0; name < 5; name += 1) {
      await conversation.start(name, { request: { caller, budget: { tokens: 1000 } } })
      await conversation.object.record(runId(name), 10_000)
    }
    const open: ServerResponse[] = []
    const isFull = Promise.withResolvers<void>()
    server.removeAllListeners('request')
    server.on('request', (_request, response) => {
      if (open.push(response) === 5) isFull.resolve()
    })
    const ring = conversation.ring()
    await Promise.all([isFull.promise, isCounted.promise])
    for (const response of open) response.end()
    await ring
    expect([open.length, conversation.reports]).toEqual([5, []])
  })

  test('holds up neither polls nor expiries while its host hangs, and is sent once meanwhile', async () => {
    let polls = 0
    const render = {
      ...tool('render', () => later, { later: true }),
      poll: async () => (++polls < 5 ? later : ({ ok: true, content: [{ type: 'text', text: 'a film' }] } as const)),
    }
    const later = { ...failure('later', 'Later.'), later: { within: 60_000, poll: 1000 } }
    const pays = tool('pay', () => 'paid', { approval: 'always' })
    const script = [say('Done.'), ask(['render']), say('A film.'), ask(['pay']), say('Nothing.')]
    const limits = { ...DEFAULT_LIMITS, waitMs: 2000 }
    const conversation = await notified(
      new TestConversation(() => script.shift() ?? [], [render, pays], { AUTH: 'open' }),
    )
    const open: ServerResponse[] = []
    const isOpen = Promise.withResolvers<void>()
    server.removeAllListeners('request')
    server.on('request', (_request, response) => (open.push(response), isOpen.resolve()))
    await conversation.run(0)
    await conversation.ringAlone()
    await isOpen.promise

    for (const name of [1, 2]) await conversation.start(name, { request: { limits } as object })
    const ends: (string | undefined)[] = []
    for (let alarms = 0; alarms < 20 && ends.length < 2; alarms++) {
      await conversation.ringAlone()
      await settle()
      ends.splice(0, 2, ...[1, 2].flatMap((name) => conversation.store.runs.record(runId(name))?.answer ?? []))
    }
    expect([polls, ends, open.length]).toEqual([5, ['A film.', 'Nothing.'], 1])
    expect(conversation.reports).toEqual([])
    server.on('request', (_request, response) => response.end())
    for (const response of open) response.end()
    await conversation.ring()
    await conversation.ring()
    expect(conversation.store.outbox.nextDue()).toBe(Infinity)
  })

  test('reports a run that has ended, signed and without content', async () => {
    const conversation = await notified(quiet())
    const alarms: number[] = []
    server.on('request', () => alarms.push(conversation.alarmAt))
    await conversation.run(0)
    expect(received).toEqual([])
    await conversation.ring()
    // Should the object be lost while it sends, the alarm rings again.
    expect(alarms).toEqual([BEGIN + 1 + 10_000])
    const [{ headers, body } = { headers: {}, body: '' }] = received
    expect(JSON.parse(body)).toEqual({
      type: 'run.finished',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: {
        run: runId(0),
        conversation: 'conv_1',
        status: 'completed',
        finish: 'stop',
        steps: 1,
        usage: { inputTokens: 10, outputTokens: 5 },
        calls: [],
        prompts: [{ step: 1, inputTokens: 10, roomLeft: expect.any(Number) }],
      },
    })
    expect(headers['webhook-id']).toBe(`${runId(0)}.${conversation.journal(0).at(-1)!.seq}`)
    expect(headers['webhook-timestamp']).toBe(String(BEGIN / 1000))
    const signed = `${String(headers['webhook-id'])}.${BEGIN / 1000}.${body}`
    const signature = createHmac('sha256', 'a secret of many bytes').update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    expect(conversation.store.outbox.nextDue()).toBe(Infinity)
  })

  test('reports a run that waits for a decision, and its end', async () => {
    const conversation = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Paid.') : ask(['pays'])),
      [tool('pays', () => 'paid', { approval: 'always' })],
      { AUTH: 'open' },
    )
    await notified(conversation)
    await conversation.run(0)
    await conversation.ring()
    const callId = `call_${runId(0).slice(4)}_1_0`
    await conversation.object.answer(runId(0), { [callId]: { decision: 'approve' } })
    await conversation.object.record(runId(0), 10_000)
    await conversation.ring()
    expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: 'run.waiting', data: { status: 'waiting', calls: [{ id: callId, tool: 'pays' }] } },
      { type: 'run.finished', data: { status: 'completed' } },
    ])
  })

  test('names the calls of which nobody knows whether they took effect, as do the record and the answer to a late decision', async () => {
    const hangs = () => new Promise<never>(() => {})
    const terms = { approval: 'always' } as const
    const tools = [
      tool('pays', hangs, terms),
      tool('looks', hangs, { ...terms, annotations: { readOnly: true } }),
      tool('refuses', () => failure('no_money', 'No.'), terms),
    ]
    const conversation = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('I see.') : ask(['pays'], ['looks'], ['refuses'])),
      tools,
      { AUTH: 'open' },
    )
    await notified(conversation)
    await conversation.run(0)
    const calls = [0, 1, 2].map((index) => `call_${runId(0).slice(4)}_1_${index}`)
    const approve = Object.fromEntries(calls.map((id) => [id, { decision: 'approve' } as const]))
    await conversation.object.answer(runId(0), approve)
    await settle()
    // The object is lost while the calls are under way, three times for the one that may be repeated.
    for (let lives = 0; lives < 3; lives += 1) {
      vi.setSystemTime(Date.now() + 1000)
      conversation.live()
      await settle()
    }
    while (conversation.store.runs.row(runId(0))?.status !== 'completed') {
      await conversation.ring()
      await settle()
    }
    const code = 'outcome_unknown'
    const record = await conversation.object.record(runId(0), 0)
    const ends = record.ok
      ? record.record.calls.map(({ tool: name, error, inDoubt }) => [name, error?.code, inDoubt])
      : []
    expect(ends).toEqual([
      ['pays', code, true],
      ['looks', code, undefined],
      ['refuses', 'no_money', undefined],
    ])
    await conversation.ring()
    expect(JSON.parse(received.at(-1)?.body ?? '')).toMatchObject({
      type: 'run.finished',
      data: { inDoubt: [{ id: calls[0], tool: 'pays', code }] },
    })
    const decideLate = async (id = '') => conversation.object.answer(runId(0), { [id]: { decision: 'reject' } })
    const doubt = `The call "${calls[0]}" was sent, and nobody knows whether it took effect (outcome_unknown).`
    expect(await decideLate(calls[0])).toMatchObject({
      code: 'call_already_answered',
      message: `This run has ended. ${doubt}`,
    })
    expect(await decideLate(calls[2])).toMatchObject({ code: 'call_already_answered', message: 'This run has ended.' })
  })

  test('that is not accepted is sent again with its id after growing delays, across restarts, and is then given up', async () => {
    const conversation = await notified(quiet())
    await conversation.run(0)
    status = 503
    const at: number[] = []
    while (conversation.store.outbox.nextDue() < Infinity) {
      const before = received.length
      await conversation.ring()
      if (received.length > before) at.push(Math.floor((Date.now() - BEGIN) / 1000))
      conversation.live()
    }
    expect(at).toEqual([0, 5, 305, 2105, 9305, 27_305, 63_305])
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(7)
    expect(conversation.reports.at(-1)).toMatchObject({ event: 'webhook.given_up', status: 503, attempt: 7 })
  })

  test('follows no redirect, and stops after 410 Gone', async () => {
    const conversation = await notified(quiet())
    await conversation.run(0)
    status = 302
    await conversation.ring()
    expect(received).toHaveLength(1)
    status = 410
    await conversation.ring()
    expect([received.length, conversation.store.outbox.nextDue()]).toEqual([2, Infinity])
  })

  test('is not sent to a host that the edge no longer allows', async () => {
    const conversation = new TestConversation(() => say('Done.'), [])
    await notified(conversation)
    await conversation.run(0)
    await conversation.ring()
    expect(received).toEqual([])
    expect(conversation.reports).toMatchObject([{ event: 'webhook.failed', status: 0 }])
  })

  test('may be sent to an https URL of an allowed host, and on a developer’s machine to loopback', () => {
    const hosts = ['hooks.example.com', 'localhost', '10.0.0.1', 'db.internal']
    const may = (url: string, isOpen = false) => mayNotify(url, { hosts, isOpen })
    expect(may('https://hooks.example.com/a?b')).toBe(true)
    for (const no of [
      'http://hooks.example.com/',
      'https://hooks.example.com:8443/',
      'https://me@hooks.example.com/',
      'https://hooks.example.com./',
      'https://other.example.com/',
      'https://localhost/',
      'https://10.0.0.1/',
      'https://db.internal/',
      'http://127.0.0.1/',
      'nonsense',
    ])
      expect([no, may(no)]).toEqual([no, false])
    expect(may('http://127.0.0.1:1234/', true)).toBe(true)
    expect(may('http://10.0.0.1/', true)).toBe(false)
  })

  test('is refused where the secret of the edge is missing or cannot be read', () => {
    const refusal = (secret?: string) =>
      webhookSender({ secret, hosts: [], isOpen: true, report: () => {} }).refusal('http://127.0.0.1:1234/')
    expect(refusal(SECRET)).toBeUndefined()
    expect(refusal('any text')).toBeUndefined()
    expect(refusal()).toBe('This edge sends no webhooks: WEBHOOK_SECRET is not set.')
    expect(refusal('whsec_not base64!')).toBe(
      'This edge sends no webhooks: after whsec_, WEBHOOK_SECRET is not base64.',
    )
  })
})
