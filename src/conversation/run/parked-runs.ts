import { isObject } from '../../contract/json.ts'
import type { RunRecord } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { NO_USAGE } from '../../contract/usage.ts'
import { eventId } from '../../wire/events.ts'
import type { Store } from '../store/store.ts'

/**
 * How long a run that could not be resumed waits before it is tried again by itself, each time that it is parked, in
 * milliseconds: a storm is over in minutes, a faulty deployment in hours. After the last one it waits for a person.
 */
const RETRY_AFTER_MS = [1, 5, 15, 60, 3 * 60, 12 * 60, 24 * 60].map((minutes) => minutes * 60_000)

export interface ParkingPorts {
  readonly store: Store
  readonly setup: Setup
  readonly now: () => number
  /** Called within the transaction that parks a run. */
  readonly onParked: (record: RunRecord, eventId: string) => void
}

/** What is stored of a run that was parked. Times are in epoch milliseconds. */
interface Parking {
  /** How often it was parked. */
  readonly times: number
  /** When it is tried again by itself; absent if a person must retry it. */
  readonly due?: number
  /** The deployment of the edge that could not resume it. */
  readonly deployment?: string
}

/** Parks a run without reading its journal, which may be what crashes the object. */
export function parkRun({ store, setup, now, onParked }: ParkingPorts, id: string, reason: string): void {
  const parkings = parkingsIn(store)
  const times = (parkings.get(id)?.times ?? 0) + 1
  const after = RETRY_AFTER_MS[times - 1]
  const due = after === undefined ? undefined : now() + after
  const { deployment } = setup
  store.transaction(() => {
    const seq = store.appendFact(id, {
      type: 'run.parked',
      reason,
      at: now(),
      retryAt: due,
    })
    store.runs.setStatus(id, 'parked')
    const parking = { times, due, deployment }
    storeParkings(store, new Map([...parkings].filter(([run]) => isParked(store, run))).set(id, parking))
    store.addUnendedReport(id, now())
    onParked(parkedRecord(store, id), eventId(id, seq))
  })
  setup.report({ event: 'run.parked', runId: id, detail: reason, ...(due !== undefined && { retryAt: due }) })
}

/**
 * Makes a parked run continue. `resumes`: how many instances count as lost while they resumed it. A run that a person
 * retries begins again at the shortest wait; one that is tried again by itself waits longer the next time.
 */
export function unparkRun(store: Store, id: string, { now, resumes }: { now: number; resumes: number }): void {
  store.transaction(() => {
    store.appendFact(id, { type: 'run.retried', at: now })
    store.runs.setStatus(id, 'running')
    store.runs.clearStall(id, resumes)
    const others = [...parkingsIn(store)].filter(([run]) => run !== id)
    if (resumes === 0) storeParkings(store, new Map(others))
  })
}

/**
 * Returns the parked runs that are to be tried again now: those that are due, and those of an earlier deployment, such as of
 * an edge that stored nothing of a parked run but its status.
 */
export function dueParkedRuns({ store, setup, now }: Pick<ParkingPorts, 'store' | 'setup' | 'now'>): readonly string[] {
  const parkings = parkingsIn(store)
  return store.runs.parkedFrom(0).filter((id) => {
    const parking = parkings.get(id)
    return !parking || dueOf(parking) <= now() || parking.deployment !== setup.deployment
  })
}

/** Returns when the next parked run is tried again, in epoch milliseconds; Infinity for never. */
export function nextParkedDue(store: Store): number {
  const parkings = parkingsIn(store)
  return Math.min(Infinity, ...store.runs.parkedFrom(0).map((id) => dueOf(parkings.get(id))))
}

function dueOf(parking: Parking | undefined): number {
  return parking ? (parking.due ?? Infinity) : 0
}

/** Returns the record of a parked run. */
export function parkedRecord(store: Store, id: string): RunRecord {
  const due = parkingsIn(store).get(id)?.due
  const next = due === undefined ? '' : ` It is tried again at ${new Date(due).toISOString()}.`
  const message = `This run is parked, since it could not be resumed.${next} Retry or cancel it.`
  const conversation = store.runs.request(id)?.conversation
  return {
    id,
    ...(conversation && { conversation }),
    status: 'parked',
    answer: '',
    steps: 0,
    usage: NO_USAGE,
    calls: [],
    error: { code: 'run_parked', message },
  }
}

function isParked(store: Store, id: string): boolean {
  return store.runs.row(id)?.status === 'parked'
}

function parkingsIn(store: Store): Map<string, Parking> {
  const stored = store.meta('parked')
  if (!isObject(stored)) return new Map()
  return new Map(Object.entries(stored).filter((entry): entry is [string, Parking] => isParking(entry[1])))
}

function isParking(value: unknown): value is Parking {
  const { times, due = 0, deployment = '' } = isObject(value) ? value : {}
  return typeof times === 'number' && typeof due === 'number' && typeof deployment === 'string'
}

function storeParkings(store: Store, parkings: ReadonlyMap<string, Parking>): void {
  store.setMeta('parked', Object.fromEntries(parkings))
}
