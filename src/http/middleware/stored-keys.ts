import { isStrings, type KeyOrderService, type StoredKey, type StoredKeys } from '../../contract/api-key.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { KeyStates, Report } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import {
  hashName,
  KEY_PREFIX,
  KeyOrder,
  readKey,
  REMEMBERED_MS,
  type StoredKeyNamespace,
} from '../../host/stored/key-order.ts'
import { Problem } from '../problem.ts'

/** The part of a KV namespace that is used for the states of keys. */
export interface KeyNamespace {
  get(key: string, options: { readonly type: 'text'; readonly cacheTtl: number }): Promise<string | null>
  put(key: string, value: string, options: { readonly expirationTtl: number }): Promise<void>
}

interface KeyOptions<Namespace> {
  readonly namespace: Namespace
  /** The object that orders changes. Default: each isolate orders its own. */
  readonly order?: KeyOrderService | undefined
  readonly report: Report
  readonly now?: () => number
}

/** How old what an isolate has read may be, in milliseconds. */
const FRESH_MS = 5000
/** How long KV may take to answer a read. */
const READ_MS = 2000
/** The shortest time for which KV can cache a value at a location, in seconds. */
const CACHE_SECONDS = 30
/** How many keys an isolate remembers. */
const MOST_KEYS = 10_000
/** The list of disabled keys in KV: a JSON array of their ids. */
const DISABLED = 'disabled'
/**
 * How long the last use of a key is stored, in seconds. It must expire, because each caller of an identity provider
 * counts as a key.
 */
const USED_SECONDS = 400 * 24 * 60 * 60
/** How often, at most, an isolate records that a key is used. */
const USED_MS = 10 * 60 * 1000
/** How many keys are listed at a time. */
const PAGE = 100

/** What an isolate has read under a name, which may be that there is nothing. */
interface Reading<Value> {
  readonly value: Value | undefined
  readonly at: number
}

type Recall = <Value>(
  name: string,
  readings: RecentMap<string, Reading<Value>>,
  read: () => Promise<Value | undefined>,
  otherwise?: () => Promise<Value | undefined>,
) => Promise<Value | undefined>

/**
 * Makes the function that reads from KV, at most every five seconds. If KV fails or does not answer, what was read last
 * applies, or else what `otherwise` returns; without either, the request is refused. In an isolate that is in use, one
 * request reads at a time.
 */
function recallFrom({ report, now = Date.now }: Pick<KeyOptions<unknown>, 'report' | 'now'>): Recall {
  return async (name, readings, read, otherwise) => {
    const last = readings.get(name)
    const ageMs = last ? now() - last.at : Infinity
    if (ageMs < FRESH_MS) return last?.value
    const renewed = last && { ...last, at: now() }
    const before = ageMs < 2 * FRESH_MS ? renewed : last
    if (before) readings.set(name, before)
    let reading: typeof last
    try {
      reading = { value: await withDeadline(READ_MS, read()), at: now() }
    } catch (error) {
      report({ event: 'keys.unreadable', detail: messageOf(error) })
      const value = renewed ? undefined : await otherwise?.()
      reading = value === undefined ? renewed : { value, at: now() }
    }
    // What was written or read meanwhile is newer.
    const current = readings.get(name)
    if (current && current !== before) reading = current
    if (!reading) {
      const message = 'Whether this key is valid cannot be checked now.'
      throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: FRESH_MS })
    }
    readings.set(name, reading)
    return reading.value
  }
}

/**
 * Reads from KV which keys are disabled. An isolate that has read nothing yet goes by what others have read while KV
 * fails, which they tell the object. Records under `used:<id>` when a key was last used, to within ten minutes, and
 * stores that for 400 days.
 */
export function keyStates({ namespace, order, report, now = Date.now }: KeyOptions<KeyNamespace>): KeyStates {
  const recall = recallFrom({ report, now })
  const lists = new RecentMap<string, Reading<ReadonlySet<string>>>({ most: 1 })
  const used = new RecentMap<string, true>({ most: MOST_KEYS, maxAgeMs: USED_MS, now })
  let toldText: string | undefined
  const readDisabled = async () => {
    const list = parseJson((await namespace.get(DISABLED, { type: 'text', cacheTtl: CACHE_SECONDS })) ?? '[]')
    if (!isStrings(list)) throw new TypeError('"disabled" in KEYS is not a JSON array of strings')
    return new Set(list)
  }
  const askDisabled = async () => {
    const ids = await withDeadline(READ_MS, order?.disabledKeys() ?? Promise.resolve(null)).catch(() => null)
    return ids ? new Set(ids) : undefined
  }
  const tellDisabled = async () => {
    const ids = lists.get(DISABLED)?.value
    const text = ids && JSON.stringify([...ids].toSorted())
    if (!order || !ids || text === toldText) return
    toldText = text
    await order.tellDisabledKeys([...ids]).catch(() => (toldText = undefined))
  }
  return {
    isDisabled: async (id) => (await recall(DISABLED, lists, readDisabled, askDisabled))?.has(id) === true,
    used: async (id) => {
      await tellDisabled()
      if (used.get(id)) return
      used.set(id, true)
      await namespace
        .put(`used:${id}`, new Date(now()).toISOString(), { expirationTtl: USED_SECONDS })
        .catch((error: unknown) => {
          report({ event: 'keys.use_lost', key: id, detail: messageOf(error) })
        })
    },
  }
}

/**
 * Keeps API keys in KV: each under `key:<id>`, and its id under `hash:<sha256>` for each of its hashes. KV caches what is
 * read of a key for 30 seconds in each location.
 */
export function keyStore({ namespace, order, report, now = Date.now }: KeyOptions<StoredKeyNamespace>): StoredKeys {
  const recall = recallFrom({ report, now })
  const keys = new RecentMap<string, Reading<StoredKey>>({ most: MOST_KEYS })
  const ids = new RecentMap<string, Reading<string>>({ most: MOST_KEYS })
  const changedKeys = new RecentMap<string, { key: StoredKey | null; at: number }>({
    most: MOST_KEYS,
    maxAgeMs: REMEMBERED_MS,
    now,
  })
  const ownOrder = new KeyOrder(
    namespace,
    { get: (id) => changedKeys.get(id), set: (id, key, at) => changedKeys.set(id, { key, at }) },
    now,
  )
  const load = (id: string) => recall(id, keys, () => readKey(namespace, id, CACHE_SECONDS))

  return {
    load,
    find: async (sha256) => {
      const options = { type: 'text', cacheTtl: CACHE_SECONDS } as const
      const id = await recall(sha256, ids, async () => (await namespace.get(hashName(sha256), options)) ?? undefined)
      const key = id === undefined ? undefined : await load(id)
      return key?.sha256.includes(sha256) ? key : undefined
    },
    recent: (id) => {
      const reading = keys.get(id)
      if (!reading) throw new Error(`the key "${id}" has not been read`)
      return reading.value
    },
    read: (id) => readKey(namespace, id),
    change: async (change) => {
      const reply = await (order ? order.changeKey(change) : ownOrder.change(change))
      if (reply.ok) keys.set(change.id, { value: change.after ?? undefined, at: now() })
      return reply
    },
    list: async (after) => {
      const options = { prefix: KEY_PREFIX, limit: PAGE, cursor: after }
      const { keys: entries, cursor } = await namespace.list(options)
      const summaries = entries.flatMap(({ metadata }) => (isSummary(metadata) ? [metadata] : []))
      return { keys: summaries, ...(cursor && { next: cursor }) }
    },
  }
}

function isSummary(value: unknown): value is Awaited<ReturnType<StoredKeys['list']>>['keys'][number] {
  return isObject(value) && typeof value['id'] === 'string'
}
