import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { platform } from '../../src/test.ts'
import { platformWith } from '../../src/testing/platform.ts'
import { eventually } from '../fixtures/eventually.ts'

/** Each limit of the platform that a greedy edge passes on workerd (test/fixtures/greedy-edge), and what it is told. */
const EDGE = { configPath: 'test/fixtures/greedy-edge/wrangler.toml', vars: { LONG: 'x'.repeat(6000) } }
const platforms = {
  paid: platform({ plan: 'paid' }),
  free: platform({ plan: 'free' }),
  // What takes too long to pass as it is.
  small: platformWith({ plan: 'paid', figures: { subrequests: 100, storage: 1_000_000, alarmTime: -1 } }),
}
type Name = keyof typeof platforms
const servers = new Map<Name, TestHarness>()

beforeAll(async () => {
  for (const [name, each] of Object.entries(platforms)) {
    const server = createTestHarness({ workers: await each.workers([EDGE]) })
    await server.listen()
    servers.set(name as Name, server)
  }
})
afterAll(async () => {
  for (const server of servers.values()) await server.close()
  for (const each of Object.values(platforms)) each.close()
})

let marks = 0
const limitsOf = (name: Name) => platforms[name].passedLimits(servers.get(name)!)

/** Asks the edge, and returns what it answers and which limits were passed meanwhile. A busy machine adds to the CPU. */
async function passing(name: Name, path: string): Promise<{ answer: any; limits: any[] }> {
  const server = servers.get(name)!
  const { url } = await server.listen()
  server.clearLogs()
  const answer = await (await fetch(new URL(path, url))).json()
  // What is logged after all that came before.
  const mark = `mark ${(marks += 1)}`
  await fetch(new URL(`/log?count=${marks}`, url))
  await eventually(() => expect(server.getLogs().map(({ message }) => message)).toContain(mark))
  const limits = limitsOf(name).map(({ limit, where, detail }) => ({ limit, where, detail }))
  return { answer, limits: limits.filter(({ limit }) => limit !== 'cpu' && limit !== 'variable') }
}

const SUBREQUESTS = expect.stringMatching(/^! Too many subrequests by single Worker invocation/)
const started = (count: number) => Array.from({ length: count }, () => 'started')

test('the variables of an edge are judged as it starts', async () => {
  const { url } = await servers.get('paid')!.listen()
  await fetch(new URL('/health', url))
  expect(limitsOf('paid')).toContainEqual({
    event: 'platform.limit',
    limit: 'variable',
    plan: 'paid',
    worker: 'greedy-edge',
    where: 'its configuration',
    detail: 'LONG has 6000 bytes, and 5120 are allowed.',
  })
})

test('an edge that passes no limit is told of none', async () => {
  expect(await passing('paid', '/health')).toEqual({ answer: { status: 'ok' }, limits: [] })
  expect(await passing('paid', '/subrequests?count=60')).toEqual({ answer: [], limits: [] })
})

test('the 51st subrequest of an invocation throws on the Free plan, and the 10,001st on the Paid plan, which is a smaller number here', async () => {
  expect(await passing('free', '/subrequests?count=52')).toEqual({
    answer: [SUBREQUESTS, SUBREQUESTS],
    limits: [
      {
        limit: 'subrequests',
        where: 'GET /subrequests',
        detail: 'OTHERS.echo is more than the 50 subrequests of an invocation.',
      },
    ],
  })
  const { answer, limits } = await passing('small', '/subrequests?count=101')
  expect(answer).toEqual([SUBREQUESTS])
  expect(limits).toMatchObject([{ limit: 'subrequests', where: 'GET /subrequests' }])
})

test('a seventh connection waits until one of six has its headers', async () => {
  const open = new Set<() => void>()
  let most = 0
  const server = createServer((_, response) => {
    open.add(() => response.end())
    most = Math.max(most, open.size)
    // Answered one at a time, once no more come.
    if (most >= 6) setImmediate(answerOne)
  }).listen(0, '127.0.0.1')
  const answerOne = () => {
    if (most < 6) return
    const [answer] = open
    if (!answer) return
    open.delete(answer)
    answer()
    setImmediate(answerOne)
  }
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const { answer, limits } = await passing('paid', `/connections?count=8&at=http://127.0.0.1:${port}/`)
  expect(answer).toEqual(Array.from({ length: 8 }, () => '200'))
  expect(most).toBe(6)
  expect(limits).toEqual([
    {
      limit: 'connections',
      where: 'GET /connections',
      detail: `fetch of 127.0.0.1:${port} waits, since 6 connections wait for their headers.`,
    },
  ])
})

describe('Dynamic Workers', () => {
  const TOO_MANY = '! Too many concurrent dynamic workers'

  test('of a request are four at once, and one more once they have ended', async () => {
    expect(await passing('paid', '/programs?count=5')).toEqual({
      answer: [...started(4), TOO_MANY, 'started'],
      limits: [
        {
          limit: 'dynamicWorkers',
          where: 'GET /programs',
          detail: 'LOADER begins one more than the 4 of a request.',
        },
      ],
    })
  })

  test('of an object are ten at once', async () => {
    expect(await passing('paid', '/objectPrograms?count=11')).toEqual({
      answer: [...started(10), TOO_MANY, 'started'],
      limits: [
        {
          limit: 'dynamicWorkersOfObject',
          where: 'Conversation.programs',
          detail: 'LOADER begins one more than the 10 of an object.',
        },
      ],
    })
  })

  test('do not exist on the Free plan', async () => {
    expect(await passing('free', '/programs?count=0')).toEqual({
      answer: ['! Dynamic Workers need the Workers Paid plan.'],
      limits: [
        {
          limit: 'dynamicWorkers',
          where: 'GET /programs',
          detail: 'LOADER is used, and the Free plan has no Dynamic Workers.',
        },
      ],
    })
  })
})

test('what is read whole within a second is memory, about', async () => {
  const { answer, limits } = await passing('paid', '/memory?count=5')
  expect(answer).toBe(5)
  expect(limits).toEqual([
    {
      limit: 'memory',
      where: 'GET /memory',
      detail: expect.stringMatching(
        /^An estimate: 1[25]\d MB were read whole within a second, the last by OTHERS.text\.$/,
      ),
    },
  ])
})

test('a message of more than 32 MiB throws', async () => {
  const { answer, limits } = await passing('paid', '/message')
  expect(answer).toMatch(/^! Serialized RPC arguments or return values are limited to 32MiB/)
  expect(limits).toEqual([
    {
      limit: 'message',
      where: 'GET /message',
      detail: expect.stringMatching(/^OTHERS.echo: Error: .* 34000012 bytes\.$/),
    },
  ])
})

test('a row of more than 2 MB is not written, in whatever way, and several smaller ones are', async () => {
  const { answer, limits } = await passing('paid', '/rows?count=1100000')
  const refusal = '! string or blob too big: SQLITE_TOOBIG'
  expect(answer).toEqual([refusal, 'stored', refusal, refusal])
  expect(limits).toEqual([
    {
      limit: 'row',
      where: 'Conversation.store',
      detail: 'INSERT INTO greed VALUES (?, ?) writes 2200000 bytes into a row, and 2000000 are allowed.',
    },
  ])
  expect(await passing('paid', '/rows?count=900000')).toEqual({
    answer: ['stored', 'stored', 'stored', 'stored'],
    limits: [],
  })
})

test('an object that is full stores nothing', async () => {
  const { answer, limits } = await passing('small', '/rows?count=600000')
  const refusal = '! database or disk is full: SQLITE_FULL'
  expect(answer).toEqual(['stored', refusal, refusal, refusal])
  expect(limits).toEqual([
    {
      limit: 'storage',
      where: 'Conversation.store',
      detail: expect.stringMatching(/^INSERT .* writes into an object of \d+ bytes; 1000000 are allowed\.$/),
    },
  ])
})

test('the seventh time that an alarm throws is the last, and an alarm has its time', async () => {
  expect(await passing('paid', '/alarm?count=5')).toEqual({ answer: '! it fails', limits: [] })
  expect(await passing('paid', '/alarm?count=6')).toEqual({
    answer: '! it fails',
    limits: [
      {
        limit: 'alarmRetries',
        where: 'Conversation.ring',
        detail: 'The alarm has thrown 7 times, and is not tried again: Error: it fails',
      },
    ],
  })
  const { url } = await servers.get('small')!.listen()
  await fetch(new URL('/ringLater', url))
  await eventually(() => expect(limitsOf('small').map(({ limit }) => limit)).toContain('alarmTime'))
})

describe('a key of KV', () => {
  test('is written once a second', async () => {
    const { answer, limits } = await passing('paid', '/writes?count=2')
    expect(answer).toEqual(['undefined', '! KV PUT failed: 429 Too Many Requests'])
    expect(limits).toEqual([
      {
        limit: 'keyInterval',
        where: 'GET /writes',
        detail: expect.stringMatching(/^VALUES often is written again after/),
      },
    ])
  })

  test('is for a minute what it was, to all others who have read it', async () => {
    const { answer } = await passing('paid', '/delay')
    expect(answer).toEqual({ before: [null, null], others: [null, null, null], writer: 'new', late: 'new' })
  })
})

test('more than 10 ms of CPU are reported on the Free plan, with an estimate of them', async () => {
  await passing('free', '/cpu?count=30')
  const ms = limitsOf('free').flatMap(({ limit, where, detail }) =>
    limit === 'cpu' && where === 'GET /cpu'
      ? Number(/computed for (\d+) ms, and 10 ms are allowed/.exec(detail)?.[1])
      : [],
  )
  expect(ms).toEqual([expect.any(Number)])
  expect(ms[0]).toBeGreaterThanOrEqual(30)
})
