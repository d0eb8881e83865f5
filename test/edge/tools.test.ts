import { createServer, type Server } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test as anyTest } from 'vitest'
import { createTestHarness } from 'wrangler'
import type { ToolDescription, ToolOutcome, ToolRequest } from '../../src/contract/tool.ts'
import type { Ask } from './caller/index.ts'
import { hasSamples } from './stage.ts'

/** These tests are about sample tools, and are skipped when one of them is deleted. */
const test = anyTest.runIf(hasSamples('clock', 'alarm', 'calculator', 'weather', 'customers'))

const TOOLS = ['clock', 'alarm', 'calculator', 'weather', 'customers']
/** Notices that the receiver turns away once before it takes them, by their message. */
const TURNED_AWAY_ONCE = 'Try twice'

interface Notice {
  readonly key: string | undefined
  readonly body: { id: string; message: string; time: string; firedAt: string; tenant: string }
}

/** Takes notices over HTTP and hands them to those who wait for one. */
class Receiver {
  readonly #notices: Notice[] = []
  readonly #waiting = new Set<() => void>()
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      void json(request).then((body) => {
        const notice = { key: request.headers['idempotency-key'] as string, body: body as Notice['body'] }
        this.#notices.push(notice)
        const turnedAway = notice.body.message === TURNED_AWAY_ONCE && this.#of(notice.body.message).length === 1
        response.writeHead(turnedAway ? 503 : 204).end()
        return this.#waiting.forEach((look) => look())
      })
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' && address?.port}/hook`
  }

  /** All notices with that message, once there are so many. */
  arrived(message: string, count: number): Promise<Notice[]> {
    return new Promise((resolve) => {
      const look = () => {
        const entry = this.#of(message)
        if (entry.length < count) return
        this.#waiting.delete(look)
        resolve(entry)
      }
      this.#waiting.add(look)
      look()
    })
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #of(message: string): Notice[] {
    return this.#notices.filter((notice) => notice.body.message === message)
  }
}

const receiver = new Receiver()
let harness: ReturnType<typeof createTestHarness>

beforeAll(async () => {
  const notifyUrl = await receiver.listen()
  harness = createTestHarness({
    workers: [
      { configPath: 'test/edge/caller/wrangler.toml' },
      ...TOOLS.map((tool) => ({
        configPath: `tools/${tool}/wrangler.toml`,
        ...(tool === 'alarm' && { vars: { NOTIFY_URL: notifyUrl } }),
      })),
    ],
  })
  await harness.listen()
})
afterAll(async () => {
  await harness.close()
  receiver.close()
})

async function ask<Answer>(question: Ask): Promise<Answer> {
  const response = await harness.fetch('/', { method: 'POST', body: JSON.stringify(question) })
  if (!response.ok) throw new Error(`the caller answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

const describeTools = (binding: string) => ask<ToolDescription>({ binding })

/** Asks a tool as the edge does: with the hash of its definition, and a context of its own. */
async function call(
  binding: string,
  name: string,
  args: Record<string, unknown>,
  { abortAfterMs, ...context }: Partial<ToolRequest['context']> & { abortAfterMs?: number } = {},
) {
  const { tools } = await describeTools(binding)
  const request: ToolRequest = {
    name,
    arguments: args,
    hash: tools.find((tool) => tool.name === name)?.hash ?? '',
    context: {
      runId: 'run_1',
      callId: 'call_1',
      idempotencyKey: crypto.randomUUID(),
      attempt: 1,
      deadline: Date.now() + 30_000,
      caller: { tenant: 'acme', scopes: ['chat'] },
      values: {},
      ...context,
    },
  }
  return ask<{ outcome: ToolOutcome; news: unknown[] }>({
    binding,
    request,
    ...(abortAfterMs !== undefined && { abortAfterMs }),
  })
}

test('every tool Worker describes its tools over its binding', async () => {
  const described = await Promise.all(TOOLS.map((tool) => describeTools(`TOOL_${tool.toUpperCase()}`)))
  expect(described.map(({ contract, tools }) => [contract, tools.map(({ name }) => name)])).toEqual([
    [1, ['currentTime', 'shiftTime']],
    [1, ['setAlarm', 'listAlarms', 'cancelAlarm']],
    [1, ['calculate', 'squareRoot']],
    [1, ['forecast']],
    [1, ['getCustomer', 'customerCard']],
  ])
  for (const tool of described.flatMap(({ tools }) => tools)) {
    expect(tool.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(tool.inputSchema['type']).toBe('object')
    expect(JSON.stringify(tool)).not.toContain('tenantId')
  }
})

test('the clock knows the IANA time zones', async () => {
  const { outcome } = await call('TOOL_CLOCK', 'shiftTime', {
    from: '2026-03-28T02:30',
    days: 1,
    timeZone: 'Europe/Berlin',
  })
  expect(outcome).toMatchObject({ ok: true, structured: { dateTime: '2026-03-29T03:30:00+02:00' } })
  const now = await call('TOOL_CLOCK', 'currentTime', {}, { values: { timeZone: 'Asia/Kathmandu' } })
  expect(now.outcome).toMatchObject({ structured: { timeZone: 'Asia/Kathmandu', utcOffset: '+05:45' } })
})

test('the calculator computes exactly', async () => {
  expect((await call('TOOL_CALCULATOR', 'squareRoot', { number: 475695037565 })).outcome).toMatchObject({
    structured: { value: '689706.4865324959374939443998156379', exact: false },
  })
  expect((await call('TOOL_CALCULATOR', 'calculate', { expression: '2^200 + 0.1' })).outcome).toMatchObject({
    structured: { value: '1606938044258990275541962092341162602522202993782792835301376.1', exact: true },
  })
})

describe('the weather', () => {
  test('is returned after progress events', async () => {
    const { outcome, news } = await call('TOOL_WEATHER', 'forecast', { place: 'Lisbon' })
    expect(outcome).toMatchObject({ ok: true, structured: { place: 'Lisbon', source: 'stand-in' } })
    expect(news).toEqual([{ message: expect.stringMatching(/^Asking for the weather of Lisbon on \d{4}-\d\d-\d\d$/) }])
  })

  test('is aborted when its run is cancelled', async () => {
    const { outcome } = await call('TOOL_WEATHER', 'forecast', { place: 'Slowville 60000' }, { abortAfterMs: 50 })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'cancelled' } })
  })
})

test('customers belong to the tenant of the caller', async () => {
  const names = await Promise.all(
    ['acme', 'globex'].map(async (tenant) => {
      const caller = { tenant, scopes: [] }
      const { outcome } = await call('TOOL_CUSTOMERS', 'getCustomer', { id: 42 }, { caller })
      return outcome.ok ? outcome.structured : outcome.error
    }),
  )
  expect(names).toMatchObject([{ name: 'Ada Okafor' }, { name: 'Mateo Ferreira' }])
})

/** Near enough to wait for, and far enough to be ahead still when a slow machine comes to set it. */
const soon = () => new Date(Date.now() + 2000).toISOString()
const acme = { caller: { tenant: 'acme', scopes: [] } }

async function set(message: string, time: string, context: Partial<ToolRequest['context']> = acme) {
  const { outcome } = await call('TOOL_ALARM', 'setAlarm', { time, message }, context)
  return (outcome.ok ? outcome.structured : outcome.error) as { id: string; time: string; message: string }
}

async function listFor(tenant: string) {
  const { outcome } = await call('TOOL_ALARM', 'listAlarms', {}, { caller: { tenant, scopes: [] } })
  return ((outcome.ok ? outcome.structured : undefined) as { alarms: Record<string, unknown>[] }).alarms
}

describe('an alarm', () => {
  test('goes off at its time, once for one call, and is listed as delivered', async () => {
    const time = soon()
    const context = { ...acme, idempotencyKey: 'the same' }
    const alarm = await set('Tea', time, context)
    expect(await set('Tea', time, { ...context, attempt: 2 })).toEqual(alarm)
    const other = await set('Tea too', time)
    const [[notice], [twin]] = await Promise.all([receiver.arrived('Tea', 1), receiver.arrived('Tea too', 1)])
    expect(notice).toEqual({
      key: alarm.id,
      body: { id: alarm.id, message: 'Tea', time, firedAt: expect.any(String), tenant: 'acme' },
    })
    expect(Date.parse(notice!.body.firedAt)).toBeGreaterThanOrEqual(Date.parse(time))
    expect(twin!.key).toBe(other.id)
    // A post arrives before the object hears that it was taken.
    await expect
      .poll(async () => (await listFor('acme')).map(({ delivery }) => delivery))
      .toEqual(Array(2).fill('delivered'))
    expect(await receiver.arrived('Tea', 1)).toHaveLength(1)
    expect(
      harness
        .getLogs()
        .map(({ message }) => message)
        .filter((line) => line.includes(alarm.id)),
    ).toEqual([
      JSON.stringify({ event: 'alarm.fired', id: alarm.id, tenant: 'acme', time, firedAt: notice!.body.firedAt }),
    ])
  })

  test('goes off even if its object was evicted, and never after it was cancelled', async () => {
    const context = { caller: { tenant: 'initech', scopes: [] } }
    const time = soon()
    const unwanted = await set('Not this', time, context)
    const wanted = await set('But this', time, context)
    const { outcome } = await call('TOOL_ALARM', 'cancelAlarm', { id: unwanted.id }, context)
    expect(outcome).toMatchObject({ structured: { id: unwanted.id, state: 'cancelled' } })
    await harness.getWorker('edgecall-alarm').evictDurableObject('Alarms', { name: 'initech' })
    const [notice] = await receiver.arrived('But this', 1)
    expect(notice!.body).toMatchObject({ id: wanted.id, tenant: 'initech' })
    expect((await listFor('initech')).map(({ message, state }) => [message, state])).toEqual([['But this', 'fired']])
  })

  test('is posted again with the same key after a refusal', async () => {
    const { id } = await set(TURNED_AWAY_ONCE, soon(), { caller: { tenant: 'globex', scopes: [] } })
    const notices = await receiver.arrived(TURNED_AWAY_ONCE, 2)
    expect(notices.map(({ key }) => key)).toEqual([id, id])
    expect(notices[1]!.body).toEqual(notices[0]!.body)
  })

  test('is hidden from other tenants', async () => {
    const { id } = await set('Secret', new Date(Date.now() + 3_600_000).toISOString())
    const { outcome } = await call('TOOL_ALARM', 'cancelAlarm', { id }, { caller: { tenant: 'umbrella', scopes: [] } })
    expect(outcome).toMatchObject({ error: { code: 'unknown_alarm' } })
    expect(await listFor('umbrella')).toEqual([])
  })
})
