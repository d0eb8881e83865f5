import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StartRequest } from '../../src/contract/conversation.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { ScheduleEntry } from '../../src/contract/schedule.ts'
import { Chance } from '../faults/chance.ts'
import { SchedulesWorld } from './schedules-world.ts'
import { settle } from '../fixtures/settle.ts'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]
const START = Date.parse('2026-01-01T00:00:00Z')
const NAMES = ['every', 'cron', 'queue'] as const
const RUN = { input: 'Write the report.' }
const DEFINITIONS = {
  every: { everySeconds: 90, run: RUN },
  cron: { cron: '*/2 * * * *', timeZone: 'Europe/Berlin', run: RUN },
  queue: { cron: '1-59/3 * * * *', overlap: 'queue', run: RUN },
}
const PERIODS = { every: [0, 90], cron: [0, 120], queue: [60, 180] } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
  // The pauses before a request is repeated are random parts of longer ones.
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Whether a time, in milliseconds after the start, is a due time of a schedule. */
function isDue(name: (typeof NAMES)[number], time: number): boolean {
  const [offset, period] = PERIODS[name]
  const seconds = (time - START) / SECOND
  // The pattern begins again with each hour, which is a multiple of all periods.
  return time > START && seconds % period === offset
}

/** Conversations that accept each run once, and whose runs end at once. */
function countingConversations(): Setup['conversations'] {
  const runs = new Set<string>()
  const conversation = {
    start: async ({ run: { runId } }: StartRequest) => {
      const replayed = runs.has(runId)
      runs.add(runId)
      return { ok: true, runId, status: 'completed', created: !replayed, replayed }
    },
    record: async (runId: string) => (runs.has(runId) ? { ok: true, record: { status: 'completed' } } : { ok: false }),
  }
  return { getByName: () => conversation } as unknown as Setup['conversations']
}

type Happening = readonly [name: string, happen: () => unknown]

interface Played {
  readonly world: SchedulesWorld
  readonly entries: ReadonlyMap<string, readonly ScheduleEntry[]>
  readonly done: readonly string[]
}

/** Lets random things happen to three schedules, and then all that is due come to its end. */
async function play(seed: number): Promise<Played> {
  const chance = new Chance(seed)
  const done: string[] = []
  const world = new SchedulesWorld({ setup: { conversations: countingConversations() } })
  for (const name of NAMES) await world.put(name, DEFINITIONS[name])
  /** All entries of each schedule, which keeps the newest alone, by the time that they are about. */
  const entries = new Map<string, Map<string, ScheduleEntry>>(NAMES.map((name) => [name, new Map()]))
  const read = async () => {
    for (const name of NAMES) {
      const schedule = await world.object.get(name)
      for (const entry of schedule?.history.toReversed() ?? []) {
        const before = entries.get(name)?.get(entry.due)
        if (before) expect(entry).toEqual(before)
        entries.get(name)?.set(entry.due, entry)
      }
    }
  }
  /** Lets the alarm ring; whatever fails, the object is still there. */
  const ring = async () => {
    if (world.alarmAt < Infinity) await world.ring()
  }
  const things: readonly [Happening, ...Happening[]] = [
    ['ring', ring],
    ['ring', ring],
    ['wait', () => vi.setSystemTime(Date.now() + chance.between(1, 200) * SECOND)],
    ['jump ahead', () => vi.setSystemTime(Date.now() + chance.between(1, 20) * MINUTE)],
    ['jump back', () => vi.setSystemTime(Math.max(START, Date.now() - chance.between(1, 600) * SECOND))],
    ['evict', () => world.live()],
    ['lose the alarm and evict', () => ((world.alarmAt = Infinity), world.live())],
    ['lose the alarm', () => (world.alarmAt = Infinity)],
    ['read', () => world.object.list('', 10)],
    [
      'refuse the alarm',
      () => {
        world.onSetAlarm = () => {
          world.onSetAlarm = () => {}
          throw new Error('The alarm cannot be set now.')
        }
      },
    ],
    [
      'die while runs are started',
      async () => {
        const moment = chance.pick(['before', 'after'] as const)
        let starts = chance.between(0, 2)
        world.onStart = (at) => {
          if (at !== moment || starts-- > 0) return
          world.live()
          throw new Error('Network connection lost.')
        }
        await ring()
        world.onStart = () => {}
      },
    ],
    [
      'lose an answer',
      async () => {
        const moment = chance.pick(['before', 'after'] as const)
        world.onStart = (at) => {
          if (at === moment && chance.isHit(0.5)) throw new Error('Network connection lost.')
        }
        await ring()
        world.onStart = () => {}
      },
    ],
    [
      'store again',
      () => {
        const name = chance.pick(NAMES)
        return world.put(name, { ...DEFINITIONS[name], run: { input: chance.pick(['Write.', 'Read.']) } })
      },
    ],
  ]
  for (let at = 0; at < 40; at++) {
    const [name, happen] = chance.pick(things)
    done.push(`${name} at ${(Date.now() - START) / SECOND}`)
    await happen()
    await settle()
    await read()
  }
  world.live()
  await settle()
  for (let at = 0; at < 60; at++) {
    await ring()
    await read()
  }
  return { world, done, entries: new Map(Array.from(entries, ([name, own]) => [name, [...own.values()]])) }
}

describe('whatever happens to the object, its alarm and its clock', () => {
  test.each(Array.from({ length: 20 }, (_, index) => index))('each due time starts one run, seed %i', async (seed) => {
    const { world, entries, done } = await play(seed)
    const story = `after ${done.join(', ')}`
    const linked = [...entries.values()].flat().flatMap(({ run = [], conversation = [] }) => [{ run, conversation }])
    const started = linked.filter(({ run }) => typeof run === 'string')
    // Every run that a conversation has accepted is linked to by one entry, and every link leads to such a run.
    const byRun = (runs: readonly { readonly run: unknown }[]) => runs.map(({ run }) => String(run)).toSorted()
    expect(byRun(world.accepted), story).toEqual(byRun(started))
    expect(new Set(byRun(started)).size, story).toBe(started.length)
    for (const name of NAMES) {
      const own = entries.get(name) ?? []
      expect(own.length, story).toBeGreaterThan(10)
      expect(
        own.filter(({ due }) => !isDue(name, Date.parse(due))),
        story,
      ).toEqual([])
      // From the first to the last, each due time has an entry, or is one of those that an entry makes up for.
      const handled = own.flatMap(({ due, missedFrom = due }) => [[Date.parse(missedFrom), Date.parse(due)] as const])
      let next = START + (PERIODS[name][0] || PERIODS[name][1]) * SECOND
      for (const [from, to] of handled.toSorted(([a], [b]) => a - b)) {
        expect(new Date(from).toISOString(), `${name} ${story}`).toBe(new Date(next).toISOString())
        next = to + PERIODS[name][1] * SECOND
      }
      expect(next, story).toBeGreaterThan(START + 40 * MINUTE)
      expect(next, story).toBeLessThan(START + 24 * HOUR)
    }
  })
})
