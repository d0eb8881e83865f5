import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { json } from 'node:stream/consumers'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunContext } from '../../src/tool.ts'
import { type MailEnv, Outbox } from './outbox.ts'
import type { MailService } from './service.ts'
import { listSent, sendMail } from './tools.ts'
import { memoryStorage } from '../../test/fixtures/sqlite.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

/** Outboxes in memory. With `restart` an outbox is made again over its storage, as after a crash. */
class Outboxes {
  readonly env: MailEnv
  readonly #databases = new Map<string, DatabaseSync>()
  readonly #objects = new Map<string, Outbox>()

  constructor(service: MailService = {}) {
    const namespace = { idFromName: (name: string) => name, get: (tenant: string) => this.#get(tenant) }
    this.env = { ...service, OUTBOXES: namespace as unknown as DurableObjectNamespace<Outbox> }
  }

  restart(): void {
    this.#objects.clear()
  }

  #get(tenant: string): Outbox {
    const database = this.#databases.get(tenant) ?? new DatabaseSync(':memory:')
    this.#databases.set(tenant, database)
    const state = { storage: memoryStorage(database) } as unknown as DurableObjectState
    const outbox = this.#objects.get(tenant) ?? new Outbox(state, this.env)
    this.#objects.set(tenant, outbox)
    return outbox
  }
}

const MAIL = { to: 'friend@example.com', subject: 'AI news', text: 'Nothing new.\n' }

async function send(outboxes: Outboxes, mail: object = MAIL, parts: Partial<RunContext<MailEnv>> = {}) {
  const outcome = await sendMail.call(mail, runContext(outboxes.env, parts))
  return outcome.ok ? outcome.structured : outcome.error
}

async function sendIn(outboxes: Outboxes, parts: Partial<RunContext<MailEnv>> = {}) {
  const outcome = await listSent.call({}, runContext(outboxes.env, parts))
  return ((outcome.ok ? outcome.structured : undefined) as { mails: Record<string, string>[] }).mails
}

let warned: unknown[]
beforeEach(() => {
  warned = []
  vi.spyOn(console, 'warn').mockImplementation((line: string) => void warned.push(JSON.parse(line)))
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('mail without a service', () => {
  test('the stand-in accepts a mail, says that it is one, and stores it', async () => {
    const outboxes = new Outboxes()
    const receipt = {
      id: expect.stringMatching(/^stand-in-/),
      to: 'friend@example.com',
      subject: 'AI news',
      sentAt: expect.stringMatching(/^\d{4}-.+Z$/),
      source: 'stand-in',
    }
    const answer = await send(outboxes)
    expect(answer).toEqual(receipt)
    outboxes.restart()
    expect(await sendIn(outboxes)).toEqual([{ ...(answer as object), text: 'Nothing new.\n' }])
    expect(warned).toEqual([])
  })

  test.each([
    [
      'bounce@stand-in.example',
      {
        code: 'mail_refused',
        message: 'Nothing was sent: the mail service refused the mail: There is no mailbox bounce@stand-in.example.',
      },
    ],
    [
      'busy@stand-in.example',
      {
        code: 'mail_unavailable',
        message: 'Nothing was sent: the mail service does not accept mail now. Try again later.',
        retryable: true,
      },
    ],
    [
      'broken@stand-in.example',
      {
        code: 'in_doubt',
        message:
          'The mail service answered HTTP 500: whether the mail was sent is unknown. It is not sent again automatically. ' +
          'Tell the person who asked, and send it again only if they want to risk a second one.',
      },
    ],
  ])('%s fails with advice', async (to, error) => {
    const outboxes = new Outboxes()
    expect(await send(outboxes, { ...MAIL, to })).toEqual(error)
    expect(await sendIn(outboxes)).toEqual([])
    expect(warned).toEqual([{ event: 'mail.not_sent', key: 'key-1', code: error.code }])
  })

  test('a mailbox that never answers leaves the mail in doubt', async () => {
    const outboxes = new Outboxes({ MAIL_TIMEOUT_MS: '20' })
    expect(await send(outboxes, { ...MAIL, to: 'lost@stand-in.example' })).toMatchObject({
      code: 'in_doubt',
      message: expect.stringContaining('The mail service gave no answer: whether the mail was sent is unknown.'),
    })
    expect(warned).toEqual([
      { event: 'mail.not_sent', key: 'key-1', code: 'in_doubt', problem: 'no answer within 20 ms' },
    ])
  })
})

describe('the arguments of a mail', () => {
  test.each([
    { to: 'friend' },
    { to: 'friend@example' },
    { to: 'Friend <friend@example.com>' },
    { to: 'friend@example.com, boss@example.com' },
    { to: 'friend@example.com\r\nBcc: boss@example.com' },
    { to: ['friend@example.com'] },
    { to: `${'f'.repeat(250)}@example.com` },
    { subject: '' },
    { subject: 'AI news\r\nBcc: boss@example.com' },
    { text: ' ' },
    { text: 'x'.repeat(20_001) },
    { bcc: 'boss@example.com' },
  ])('are refused: %o', async (wrong) => {
    const outboxes = new Outboxes()
    expect(await send(outboxes, { ...MAIL, ...wrong })).toMatchObject({ code: 'invalid_arguments' })
    expect(await sendIn(outboxes)).toEqual([])
  })
})

interface Arrived {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

describe('mail over HTTP', () => {
  const arrived: Arrived[] = []
  let onArrival = () => {}
  const arrival = () => new Promise<void>((resolve) => (onArrival = resolve))
  /** Answers a mail; silence otherwise. */
  let answer: { status: number; headers?: Record<string, string>; body?: string } | undefined
  let server: Server
  let service: MailService
  let host = ''

  beforeAll(async () => {
    server = createServer((request, response) => {
      void json(request).then((body) => {
        arrived.push({ method: request.method, url: request.url, headers: request.headers, body })
        onArrival()
        if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
      })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    host = `127.0.0.1:${typeof address === 'object' && address?.port}`
    service = { MAIL_URL: `http://${host}/v1/`, MAIL_TOKEN: 'secret', MAIL_TIMEOUT_MS: '5000' }
  })
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    arrived.length = 0
    answer = { status: 202, body: '{"id":"m-1"}' }
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  test('posts the mail with its key, and names the host that accepted it', async () => {
    const outboxes = new Outboxes(service)
    expect(await send(outboxes)).toMatchObject({ id: 'm-1', to: 'friend@example.com', source: host })
    expect(arrived).toMatchObject([
      {
        method: 'POST',
        url: '/v1/messages',
        headers: {
          'content-type': 'application/json',
          'idempotency-key': 'key-1',
          authorization: 'Bearer secret',
        },
        body: MAIL,
      },
    ])
  })

  test('sends one mail for one key, however often and concurrently it is called, also across a restart', async () => {
    const outboxes = new Outboxes(service)
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(outboxes)))
    outboxes.restart()
    answers.push(await send(outboxes, MAIL, { attempt: 2 }))
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1)
    expect([arrived.length, (await sendIn(outboxes)).length]).toEqual([1, 1])
    await send(outboxes, MAIL, { idempotencyKey: 'key-2' })
    expect([arrived.length, (await sendIn(outboxes)).length]).toEqual([2, 2])
  })

  test('leaves a mail without an answer in doubt, and never sends it again', async () => {
    answer = undefined
    const outboxes = new Outboxes(service)
    const pending = send(outboxes)
    await arrival()
    vi.advanceTimersByTime(5000)
    expect(await pending).toMatchObject({ code: 'in_doubt' })
    answer = { status: 202 }
    expect(await send(outboxes, MAIL, { attempt: 2 })).toMatchObject({ code: 'in_doubt' })
    outboxes.restart()
    expect(await send(outboxes, MAIL, { attempt: 3 })).toMatchObject({ code: 'in_doubt' })
    expect(arrived).toHaveLength(1)
    expect(await sendIn(outboxes)).toEqual([])
  })

  test('returns the status of a mail by its key, also across a restart', async () => {
    const outboxes = new Outboxes(service)
    const status = (parts: Partial<RunContext<MailEnv>> = {}) => {
      return sendMail.status?.(MAIL, runContext(outboxes.env, parts))
    }
    expect(await status()).toBe('absent')
    answer = { status: 422 }
    await send(outboxes)
    expect(await status()).toBe('absent')

    answer = undefined
    const pending = send(outboxes)
    await arrival()
    expect(await status()).toBe('unknown')
    vi.advanceTimersByTime(5000)
    await pending
    outboxes.restart()
    expect(await status()).toBe('unknown')

    answer = { status: 202, body: '{"id":"m-2"}' }
    const outcome = await sendMail.call(MAIL, runContext(outboxes.env, { idempotencyKey: 'key-2' }))
    expect(outcome).toMatchObject({ ok: true, structured: { id: 'm-2' } })
    outboxes.restart()
    expect(await status({ idempotencyKey: 'key-2' })).toEqual(outcome)
    expect(arrived).toHaveLength(3)
    expect(await sendMail.describe()).toMatchObject({ reconcile: true })
  })

  test('leaves a mail that a crash cut off in doubt, and never sends it again', async () => {
    answer = undefined
    const outboxes = new Outboxes(service)
    const lost = send(outboxes)
    await arrival()
    outboxes.restart()
    expect(await send(outboxes, MAIL, { attempt: 2 })).toMatchObject({ code: 'in_doubt' })
    vi.advanceTimersByTime(5000)
    await lost
    expect(arrived).toHaveLength(1)
  })

  test.each([500, 502, 307])('leaves a mail in doubt after HTTP %i, and never sends it again', async (status) => {
    answer = { status, headers: { location: '/elsewhere' } }
    const outboxes = new Outboxes(service)
    expect(await send(outboxes)).toMatchObject({
      code: 'in_doubt',
      message: expect.stringContaining(`The mail service answered HTTP ${status}: whether`),
    })
    await send(outboxes)
    expect(arrived).toHaveLength(1)
  })

  test('accepts the same key again after a refusal', async () => {
    const outboxes = new Outboxes(service)
    for (const status of [503, 429, 422]) {
      answer = { status, body: '{"message":"Not now."}' }
      expect(await send(outboxes)).toMatchObject({ message: expect.stringMatching(/^Nothing was sent: /) })
    }
    answer = { status: 200 }
    expect(await send(outboxes)).toMatchObject({ to: 'friend@example.com' })
    expect(arrived.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(4).fill('key-1'))
  })

  test.each(['', '<p>Accepted</p>', '[]', '{"id":7}', `{"id":"${'x'.repeat(201)}"}`])(
    'counts an accepted mail as sent, even if the answer is %s',
    async (body) => {
      answer = { status: 200, body }
      const outboxes = new Outboxes(service)
      const result = await send(outboxes)
      expect(result).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), source: host })
      expect(await send(outboxes)).toEqual(result)
      expect(arrived).toHaveLength(1)
    },
  )

  test('reports a refusal in the words of the service, truncated', async () => {
    const outboxes = new Outboxes(service)
    const refusalOf = async (body: string) => {
      answer = { status: 400, body }
      return ((await send(outboxes)) as { message: string }).message
    }
    const refusalText = 'Nothing was sent: the mail service refused the mail: '
    expect(await refusalOf('{"message":"The subject is rude."}')).toBe(`${refusalText}The subject is rude.`)
    expect(await refusalOf(`{"message":"${'Rude. '.repeat(50)}"}`)).toBe(`${refusalText}it answered HTTP 400`)
    expect(await refusalOf('Rude.')).toBe(`${refusalText}it answered HTTP 400`)
  })

  test('sends nothing for an aborted call', async () => {
    const outboxes = new Outboxes(service)
    const options = { deadline: Date.now() - 1 }
    expect(await send(outboxes, MAIL, options)).toEqual({
      code: 'mail_too_late',
      message: 'Nothing was sent: the time limit was reached.',
    })
    expect(arrived).toEqual([])
    answer = undefined
    const pending = send(outboxes, MAIL, { deadline: Date.now() + 4000 })
    await arrival()
    vi.advanceTimersByTime(4000)
    expect(await pending).toMatchObject({ code: 'in_doubt' })
  })

  test('leaves a mail in doubt if the service is unreachable, and refuses it if the address is invalid', async () => {
    expect(await send(new Outboxes({ MAIL_URL: 'http://127.0.0.1:1' }))).toMatchObject({ code: 'in_doubt' })
    for (const wrong of [
      { MAIL_URL: 'mail.example.com' },
      { ...service, MAIL_TOKEN: 'two\nlines' },
      { ...service, MAIL_TIMEOUT_MS: 'abc' },
      { ...service, MAIL_TIMEOUT_MS: '-5' },
    ]) {
      expect(await send(new Outboxes(wrong))).toEqual({
        code: 'mail_misconfigured',
        message: 'Nothing was sent: the mail service is misconfigured. Trying again will not help.',
      })
    }
    expect(arrived).toEqual([])
  })
})

describe('listSent', () => {
  test('returns the last ten mails, the newest first, for thirty days', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-20T12:00:00Z'), toFake: ['Date'] })
    const outboxes = new Outboxes()
    for (let count = 1; count <= 12; count++) {
      await send(outboxes, { ...MAIL, subject: `mail ${count}` }, { idempotencyKey: `key-${count}` })
    }
    expect((await sendIn(outboxes)).map(({ subject }) => subject)).toEqual(
      Array.from({ length: 10 }, (_, index) => `mail ${12 - index}`),
    )
    vi.setSystemTime('2026-12-20T12:00:00.001Z')
    await send(outboxes, MAIL, { idempotencyKey: 'key-13' })
    expect((await sendIn(outboxes)).map(({ subject, sentAt }) => [subject, sentAt])).toEqual([
      ['AI news', '2026-12-20T12:00:00.001Z'],
    ])
    vi.useRealTimers()
  })

  test('returns only the mail of the tenant', async () => {
    const outboxes = new Outboxes()
    await send(outboxes)
    const globex = { caller: { tenant: 'globex', scopes: [] }, values: { tenantId: 'acme' } }
    expect([(await sendIn(outboxes)).length, await sendIn(outboxes, globex)]).toEqual([1, []])
  })
})

test('sending mail needs approval, and both mail tools are idempotent', async () => {
  const described = await Promise.all([sendMail, listSent].map((tool) => tool.describe()))
  expect(described.map(({ annotations, approval }) => ({ ...annotations, approval }))).toEqual([
    { readOnly: false, idempotent: true, destructive: true, openWorld: true, approval: 'always' },
    { readOnly: true, idempotent: true, openWorld: false, private: true, approval: undefined },
  ])
})
