import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FIGURES, PLATFORM_LIMITS } from '../../src/contract/platform.ts'
import { MOST_PART_BYTES } from '../../src/contract/backup.ts'
import { readConfig } from '../../src/contract/config.ts'
import { MOST_PROGRAMS } from '../../src/contract/program.ts'
import { DEFAULT_LIMITS, mostResultBytes } from '../../src/contract/limits.ts'
import { Chunks, migrate } from '../../src/conversation/store/database.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const MIB = 1024 * 1024

test('a run is continued in another invocation before it has made the subrequests of one, and the page says after how many', () => {
  const { maxSubrequests } = readConfig({})
  // The rest is for finding tools, hooks, webhooks and reports.
  expect(maxSubrequests).toBeLessThanOrEqual(0.9 * FIGURES.paid.subrequests)
  expect(PLATFORM_LIMITS.subrequests.here).toContain(`(${maxSubrequests.toLocaleString('en')}; `)
})

test('the page names the figures to which the stand-in for the platform holds a Worker', () => {
  const { free, paid } = FIGURES
  const number = (value: number) => value.toLocaleString('en')
  expect(PLATFORM_LIMITS.subrequests.allowed).toBe(`${free.subrequests} (Free), ${number(paid.subrequests)} (Paid)`)
  expect(PLATFORM_LIMITS.connections.allowed).toBe(`${paid.connections}`)
  expect(PLATFORM_LIMITS.dynamicWorkers.allowed).toBe(`none (Free), ${paid.dynamicWorkers} (Paid)`)
  expect(PLATFORM_LIMITS.dynamicWorkersOfObject.allowed).toBe(`none (Free), ${paid.dynamicWorkersOfObject} (Paid)`)
  expect(PLATFORM_LIMITS.memory.allowed).toBe(`${paid.memory / MIB} MB`)
  expect(PLATFORM_LIMITS.message.allowed).toBe(`${paid.message / MIB} MiB`)
  expect(PLATFORM_LIMITS.row.allowed).toBe(`${paid.row / 1e6} MB`)
  expect(PLATFORM_LIMITS.storage.allowed).toBe(`${paid.storage / 1e9} GB`)
  expect(PLATFORM_LIMITS.cpu.allowed).toContain(`${free.cpu} ms (Free), ${paid.cpu / 1000} s (Paid`)
  expect(PLATFORM_LIMITS.keyInterval.allowed).toBe(`${1000 / paid.keyInterval} a second`)
  expect(PLATFORM_LIMITS.keyDelay.allowed).toBe(`${paid.keyDelay / 1000} s or more`)
  expect(PLATFORM_LIMITS.variable.allowed).toBe(`${paid.variable / 1024} KB`)
  expect(PLATFORM_LIMITS.alarmRetries.allowed).toBe(`${paid.alarmRetries}`)
  expect(PLATFORM_LIMITS.alarmTime.allowed).toBe(`${paid.alarmTime / MINUTE} minutes`)
})

test('no more programs of a run are under way than a request may have', () => {
  expect(MOST_PROGRAMS).toBe(FIGURES.paid.dynamicWorkers)
})

const MINUTE = 60_000

test('a run with the default limits ends within the time of an alarm', () => {
  expect(DEFAULT_LIMITS.runMs).toBeLessThanOrEqual(15 * MINUTE)
})

test('a run that takes longer than an alarm may is continued by the next alarm each time that it is cut off', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  let steps = 0
  const conversation = new TestConversation(
    async function* () {
      vi.setSystemTime(Date.now() + 4 * MINUTE)
      steps += 1
      // In the fourth step of each alarm its time is up.
      if (steps % 4 === 0) yield await new Promise<never>(() => {})
      yield* steps < 15 ? ask(['look', { at: steps }]) : say('Done.')
    },
    [tool('look')],
  )
  await conversation.start(1, { request: { limits: { ...DEFAULT_LIMITS, runMs: 120 * MINUTE } } as object })
  for (let alarms = 0; alarms < 3; alarms += 1) {
    await settle()
    expect(steps).toBe(4 * (alarms + 1))
    conversation.live()
    await settle()
    await conversation.ring()
  }
  await settle()
  expect(conversation.store.runs.row(runId(1))).toMatchObject({ status: 'completed', interrupted: 0, resumes: 0 })
  const events = await conversation.events(1)
  expect(events.filter(({ type }) => type === 'call.settled')).toHaveLength(11)
  expect(events.filter((event) => event.type === 'step.restarted').map(({ because }) => because)).toEqual(
    Array(3).fill('interrupted'),
  )
  expect(Date.now()).toBeGreaterThan(45 * MINUTE)
})

test('the body of a request and a copy of a conversation fit into a message over RPC, and into memory several times', () => {
  expect(readConfig({}).maxBodyBytes).toBe(MIB)
  expect(MOST_PART_BYTES).toBeLessThan(32 * MIB)
  expect(MOST_PART_BYTES * 3).toBeLessThan(128e6)
})

test('the results of all calls at the same time fit into memory twice, whatever their characters and their number', () => {
  const { concurrentCalls, answerCharacters } = DEFAULT_LIMITS
  expect(mostResultBytes(concurrentCalls)).toBe(4 * MIB)
  expect(mostResultBytes(1)).toBe(8 * MIB)
  for (const calls of [1, 2, 5, concurrentCalls, 100])
    expect(calls * mostResultBytes(calls) * 2 + mostResultBytes(calls) * 2 + answerCharacters * 2).toBeLessThan(100e6)
})

test('no text makes a row longer than an object may have, whichever characters it consists of', () => {
  const database = new DatabaseSync(':memory:')
  const storage = memoryStorage(database)
  migrate(storage)
  const chunks = new Chunks(storage.sql)
  for (const character of ['a', 'é', '語', '🦊']) {
    const text = character.repeat(2_000_000)
    const column = chunks.keep(text)
    expect(column.length).toBeLessThan(100)
    expect(chunks.read(column)).toBe(text)
  }
  const [row] = database.prepare('SELECT max(length(CAST(text AS BLOB))) AS bytes FROM chunks').all()
  expect(row?.['bytes']).toBeLessThan(2e6)
})
