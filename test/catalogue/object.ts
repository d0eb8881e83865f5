import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import { catalogue, type CatalogueObject } from '../../src/catalogue/catalogue.ts'
import type { Change } from '../../src/contract/catalogue.ts'
import { compareTexts } from '../../src/definitions/change.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { FakeKv } from '../host/source/fake-kv.ts'

export interface TestCatalogue {
  readonly kv: FakeKv
  readonly reports: object[]
  readonly object: CatalogueObject<object>
  /** When the alarm is set for, if it is. */
  readonly alarm: () => number | undefined
  /** The platform refuses so many alarms from now on. */
  readonly refuseAlarms: (times: number) => void
  readonly loseAlarm: () => void
  /** Rings the alarm, and those that it sets, at their times; the clock (fake timers) moves there. Returns how often. */
  readonly settle: () => Promise<number>
  /** The object as it is after its life was lost, with the same database. */
  readonly revive: () => CatalogueObject<object>
}

/** The catalogue's object in plain Node, over a database in memory. */
export function testCatalogue(
  compare: (before: string, after: string) => Promise<Change> = async (before, after) => compareTexts(before, after),
): TestCatalogue {
  const kv = new FakeKv()
  const reports: object[] = []
  const database = new DatabaseSync(':memory:')
  let alarm: number | undefined
  let refusals = 0
  const storage = Object.assign(memoryStorage(database), {
    setAlarm: async (time: number) => {
      if (time <= 0 || refusals-- > 0) throw new TypeError('The platform refuses the alarm.')
      alarm = time
    },
    getAlarm: async () => alarm ?? null,
  })
  const Catalog = catalogue<object>(() => ({ namespace: kv, compare, report: (entry) => void reports.push(entry) }))
  const revive = () => new Catalog({ storage } as unknown as DurableObjectState, {})
  const object = revive()
  return {
    kv,
    reports,
    object,
    alarm: () => alarm,
    refuseAlarms: (times) => (refusals = times),
    loseAlarm: () => (alarm = undefined),
    revive,
    settle: async () => {
      let rung = 0
      for (; alarm !== undefined; rung++) {
        vi.setSystemTime(Math.max(alarm, Date.now()))
        alarm = undefined
        await object.alarm()
      }
      return rung
    },
  }
}
