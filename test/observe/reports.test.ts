import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { UsageRow } from '../../src/contract/metrics.ts'
import type { RunReporter } from '../../src/contract/report.ts'
import { traceOf } from '../../src/contract/trace.ts'
import type { RunFact } from '../../src/contract/event.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { metricsReporter, reportOf } from '../../src/observe/run-report.ts'
import { spansOf } from '../../src/observe/spans.ts'
import { encodeSpans, otlpReporter } from '../../src/observe/otlp.ts'
import { Chance } from '../faults/chance.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { ask, requestOf, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from '../conversation/object.ts'
import { eventually } from '../fixtures/eventually.ts'
import { settle } from '../fixtures/settle.ts'

const BEGIN = Date.parse('2026-01-01T00:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: BEGIN }))
afterEach(() => void vi.useRealTimers())

/** The provider reads a part of each request from its cache, and writes another part to it. */
const cached = (events: readonly ModelEvent[]): ModelEvent[] =>
  events.map((event) =>
    event.type === 'finish' && event.usage
      ? { ...event, usage: { ...event.usage, cachedInputTokens: 4, cacheWriteTokens: 3 } }
      : event,
  )

const pay = (reporters: readonly RunReporter[]) => {
  const conversation = new TestConversation(
    ({ messages }) => cached(messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['pays', { a: 1 }], ['looks'])),
    [tool('pays', () => 'paid'), tool('looks', () => 'seen', { annotations: { readOnly: true } })],
  )
  conversation.reporters = reporters
  conversation.live()
  return conversation
}

/** Lets random things happen to a conversation; returns what its tenant's directory and its journals say was used. */
async function play(seed: number): Promise<{ counted: UsageRow[]; journalled: object[] }> {
  const chance = new Chance(seed)
  const directories = memoryDirectories()
  const inner = metricsReporter(directories)
  let mayFail = true
  const conversation = pay([
    {
      ...inner,
      openBatch: () => {
        const batch = inner.openBatch()
        return {
          ...batch,
          send: async () => {
            // The directory cannot be reached, or its answer is lost.
            if (mayFail && chance.isHit(0.3)) throw new Error('away')
            await batch.send()
            if (mayFail && chance.isHit(0.3)) throw new Error('lost')
          },
        }
      },
    },
  ])
  await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: {} })
  let runs = 0
  const things: readonly (() => unknown)[] = [
    () => conversation.start(runs++),
    () => conversation.start(runs++, { onBusy: 'interrupt' }),
    () => runs > 0 && conversation.object.cancel(runId(chance.between(0, runs - 1))),
    () => failOnce(conversation, chance.between(1, 6)),
    () => settle().then(() => conversation.live()),
    () => (conversation.alarmAt < Infinity ? conversation.ring() : undefined),
  ]
  for (let step = 0; step < 20; step++) {
    await Promise.resolve(things[chance.between(0, things.length - 1)]?.()).catch(() => {})
    if (chance.isHit(0.7)) await settle()
  }
  mayFail = false
  for (let turn = 0; turn < 200 && isUnsettled(conversation); turn++) {
    await settle()
    if (conversation.alarmAt < Infinity) await conversation.ring()
  }
  const directory = directories.getByName('acme')
  const counted = [...(await directory.usage('2026-01-01', '2026-12-31', 'model'))]
  const ids = conversation.rows('SELECT id FROM runs').map(({ id }) => String(id))
  const journals = ids.map((id) => conversation.journal(id.slice(4)))
  const ends = journals.flatMap((events) => events.filter((event) => event.type === 'run.finished'))
  const calls = journals.flat().filter(({ type }) => type === 'call.settled').length
  const total = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
  for (const { usage } of ends) {
    total.inputTokens += usage.inputTokens
    total.cachedInputTokens += usage.cachedInputTokens ?? 0
    total.cacheWriteTokens += usage.cacheWriteTokens ?? 0
    total.outputTokens += usage.outputTokens
  }
  expect(ends.length).toBe(ids.length)
  const row = { name: 'test/scripted', runs: ids.length, calls, ...total, cost: 0 }
  return { counted, journalled: ids.length === 0 ? [] : [row] }
}

/** The disk fails at one of the next transactions, and the object is lost. */
async function failOnce(conversation: TestConversation, at: number): Promise<void> {
  let transactions = 0
  conversation.onTransaction = () => {
    if (++transactions === at) throw new Error('no disk')
  }
  await conversation.start('failing').catch(() => {})
  await settle()
  conversation.onTransaction = () => {}
  conversation.live()
}

describe('the usage of runs', () => {
  test('agrees with their journals, each run counted once, whatever crashes and however often a report is lost', async () => {
    let runs = 0
    for (let seed = 1; seed <= 60; seed++) {
      vi.setSystemTime(BEGIN)
      const { counted, journalled } = await play(seed)
      expect(counted, `seed ${seed}`).toEqual(journalled)
      runs += counted[0]?.runs ?? 0
    }
    expect(runs).toBeGreaterThan(150)
  })

  test('is counted before the conversation is deleted', async () => {
    const directories = memoryDirectories()
    const conversation = pay([metricsReporter(directories)])
    await conversation.run(0)
    await conversation.object.remove()
    const rows = await directories.getByName('acme').usage('2026-01-01', '2026-01-01', 'tool')
    expect(rows.map(({ name, calls }) => [name, calls])).toEqual([
      ['looks', 1],
      ['pays', 1],
    ])
  })
})

describe('the trace of a run', () => {
  const traced = { request: { trace: traceOf(null, runId(0), true)! } }

  test('is sent when the run ends, and again until the endpoint takes it, the same each time', async () => {
    const bodies: string[] = []
    let status = 503
    const send = async (_url: unknown, init?: RequestInit) => {
      bodies.push(typeof init?.body === 'string' ? init.body : '')
      return new Response(status === 503 ? 'The queue is full.' : '', { status })
    }
    const conversation = pay([
      otlpReporter({ url: 'https://otlp.test/v1/traces', headers: {}, service: 'x', fetch: send }),
    ])
    await conversation.start(0, traced)
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
    await eventually(() => expect(bodies).toHaveLength(1))
    // Another instance sends it again.
    conversation.live()
    status = 200
    while (conversation.store.outbox.hasReports()) await conversation.ring()
    expect(bodies).toEqual([bodies[0], bodies[0]])
    expect(conversation.reports).toEqual([
      {
        event: 'report.failed',
        reporter: 'traces',
        runId: runId(0),
        attempts: 1,
        detail: 'The OTLP endpoint answered 503: The queue is full.',
      },
    ])
  })

  test('has the spans before and after a wait once each, although neither is taken at once and the object is lost', async () => {
    const batches: any[] = []
    let status = 503
    const send = async (_url: unknown, init?: RequestInit) => {
      if (status === 200) batches.push(JSON.parse(init?.body as string).resourceSpans[0].scopeSpans[0].spans)
      return new Response('', { status })
    }
    const conversation = new TestConversation(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['pays'])),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    conversation.reporters = [otlpReporter({ url: 'https://otlp.test', headers: {}, service: 'x', fetch: send })]
    conversation.live()
    await conversation.start(0, traced)
    const reply = await conversation.object.record(runId(0), 10_000)
    const [call] = reply.ok ? reply.record.calls : []
    conversation.live()
    await conversation.object.answer(runId(0), { [call?.id ?? '']: { decision: 'approve' } })
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
    status = 200
    while (conversation.store.outbox.hasReports()) await conversation.ring()
    expect(new Set(batches.map((spans) => spans.map(({ name }: any) => name).join()))).toEqual(
      new Set(['chat scripted,step 1,invoke_agent', 'execute_tool pays,step 1,chat scripted,step 2,invoke_agent']),
    )
    const all = batches.flat()
    expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(8)
    const links = all.flatMap(({ links = [] }) => links)
    expect(links.filter(({ spanId }) => all.some((span) => span.spanId === spanId))).toHaveLength(2)
  })

  test('is given up after five attempts, each of them logged', async () => {
    const send = async () => new Response('', { status: 400 })
    const conversation = pay([otlpReporter({ url: 'https://otlp.test', headers: {}, service: 'x', fetch: send })])
    await conversation.start(0, traced)
    await conversation.object.record(runId(0), 10_000)
    while (conversation.store.outbox.hasReports()) await conversation.ring()
    expect(conversation.reports.map(({ event, attempts }) => [event, attempts])).toEqual([
      ...[1, 2, 3, 4].map((attempts) => ['report.failed', attempts]),
      ['report.given_up', 5],
    ])
  })

  test('is encoded as OTLP has it in JSON', () => {
    const span = { name: 'a', kind: 'client', traceId: '1', spanId: '2', parentId: '3', start: 1, end: 2.4 } as const
    const attributes = { text: 'x', whole: 1, part: 0.5, flag: true, list: ['y'] }
    const events = [{ name: 'e', at: 1 }]
    const schemaUrl = 'https://opentelemetry.io/schemas/1.41.0'
    expect(encodeSpans([{ ...span, attributes, error: 'gone', events }], 'edge', 'v7')).toEqual({
      resourceSpans: [
        {
          schemaUrl,
          resource: {
            attributes: [
              { key: 'service.name', value: { stringValue: 'edge' } },
              { key: 'service.version', value: { stringValue: 'v7' } },
            ],
          },
          scopeSpans: [
            {
              scope: { name: 'edgecall' },
              schemaUrl,
              spans: [
                {
                  ...{ name: 'a', kind: 3, traceId: '1', spanId: '2', parentSpanId: '3' },
                  ...{ startTimeUnixNano: '1000000', endTimeUnixNano: '2000000' },
                  attributes: [
                    { key: 'text', value: { stringValue: 'x' } },
                    { key: 'whole', value: { intValue: '1' } },
                    { key: 'part', value: { doubleValue: 0.5 } },
                    { key: 'flag', value: { boolValue: true } },
                    { key: 'list', value: { arrayValue: { values: [{ stringValue: 'y' }] } } },
                  ],
                  events: [{ name: 'e', timeUnixNano: '1000000', attributes: [] }],
                  status: { code: 2, message: 'gone' },
                },
              ],
            },
          ],
        },
      ],
    })
  })
})

function isUnsettled({ store }: TestConversation): boolean {
  return store.outbox.hasReports() || store.runs.unfinished().length > 0
}

test('metrics and traces tell how much of the room a step took, what its cache held, and what was reduced for it', () => {
  const usage = { inputTokens: 6000, outputTokens: 20, cachedInputTokens: 4000, cacheWriteTokens: 500 }
  const reduction = { from: 0, results: 5, files: 5, model: 'test/scripted' }
  const events: RunFact[] = [
    { type: 'run.started', model: 'test/scripted', tools: [], at: 0 },
    { type: 'step.started', step: 1 },
    { type: 'context.reduced', step: 1, reduction, before: 9000, after: 6100, room: 8000, because: 'refused' },
    { type: 'step.answered', step: 1, text: 'Done.', calls: [], finish: 'stop', usage, roomLeft: 2000 },
    { type: 'step.finished', step: 1, finish: 'stop', usage },
    { type: 'run.finished', status: 'completed', finish: 'stop', answer: 'Done.', usage },
  ]
  const trace = traceOf(null, runId(1), true)
  const request = requestOf({ ...(trace && { trace }) })
  const run = { request, acceptedAt: 0, facts: events.map((event, at) => ({ event, at })) }
  const series = reportOf(run).series.filter(({ name }) => /room|tokens|reductions/.test(name))
  const values = series.map(({ name, labels, part, value }) => [name, labels, part, value])
  expect(values).toEqual([
    ['edgecall_context_reductions', 'model="test/scripted",because="refused"', 'value', 1],
    ['edgecall_room_used', 'model="test/scripted"', 'sum', 0.75],
    ['edgecall_room_used', 'model="test/scripted"', 'bucket', 1],
    ['edgecall_tokens', 'model="test/scripted",key="",kind="input"', 'value', 6000],
    ['edgecall_tokens', 'model="test/scripted",key="",kind="cached"', 'value', 4000],
    ['edgecall_tokens', 'model="test/scripted",key="",kind="cache_write"', 'value', 500],
    ['edgecall_tokens', 'model="test/scripted",key="",kind="output"', 'value', 20],
  ])
  const chat = spansOf(run).find(({ name }) => name === 'chat scripted')
  expect(chat?.attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 6000,
    'gen_ai.usage.cache_read.input_tokens': 4000,
    'gen_ai.usage.cache_write.input_tokens': 500,
    'edgecall.room_left': 2000,
  })
  expect(chat?.events).toMatchObject([
    {
      name: 'context.reduced',
      attributes: {
        'edgecall.tokens.before': 9000,
        'edgecall.tokens.after': 6100,
        'edgecall.room': 8000,
        'edgecall.because': 'refused',
      },
    },
  ])
})
