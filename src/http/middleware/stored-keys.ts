import { isObject, parseJson } from '../../contract/json.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Report } from '../../contract/setup.ts'
import { readStoredKey, storedForm, type StoredKey, type StoredKeys } from '../../contract/api-key.ts'
import { messageOf } from '../../contract/thrown.ts'
import { Problem } from '../problem.ts'

/** The part of a KV namespace that is used here. */
export interface StoredKeyNamespace {
  get(key: string, options: { readonly type: 'text'; readonly cacheTtl?: number }): Promise<string | null>
  put(key: string, value: string, options: { readonly metadata?: object }): Promise<void>
  delete(key: string): Promise<void>
  list(options: {
    readonly prefix: string
    readonly limit: number
    readonly cursor?: string
  }): Promise<{ readonly keys: readonly { readonly metadata?: unknown }[]; readonly cursor?: string }>
}

export interface KeyStoreOptions {
  readonly namespace: StoredKeyNamespace
  readonly report: Report
  readonly now?: () => number
}

const FRESH_MS = 5000
/** The shortest time for which KV can cache a value at a location, in seconds. */
const CACHE_SECONDS = 30
const MOST_KEYS = 10_000
const PAGE = 100

/** What an isolate has read of a key or of a hash, which may be that there is none. */
interface Reading<Value> {
  readonly value: Value | undefined
  readonly at: number
}

/**
 * Keeps API keys in KV: each under `key:<id>`, and its id under `hash:<sha256>` for each of its hashes. An isolate reads a
 * key at most every five seconds, and KV caches it for 30 in each location. If KV fails, what was read last applies; what
 * was never read is refused.
 */
export function keyStore({ namespace, report, now = Date.now }: KeyStoreOptions): StoredKeys {
  const keys = new RecentMap<string, Reading<StoredKey>>({ most: MOST_KEYS })
  const ids = new RecentMap<string, Reading<string>>({ most: MOST_KEYS })

  async function recall<Value>(
    name: string,
    readings: RecentMap<string, Reading<Value>>,
    read: () => Promise<Value | undefined>,
  ): Promise<Value | undefined> {
    const last = readings.get(name)
    if (last && now() - last.at < FRESH_MS) return last.value
    try {
      const value = await read()
      readings.set(name, { value, at: now() })
      return value
    } catch (error) {
      report({ event: 'keys.unreadable', detail: messageOf(error) })
      if (last) return last.value
      const message = 'Whether this key is valid cannot be checked now.'
      throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: FRESH_MS })
    }
  }

  const readKey = async (id: string, cacheTtl?: number) => {
    const text = await namespace.get(`key:${id}`, { type: 'text', cacheTtl })
    if (text === null) return undefined
    const entry = parseJson(text)
    if (!isObject(entry) || entry['id'] !== id) throw new TypeError(`"key:${id}" in KEYS is not a key`)
    return readStoredKey(entry)
  }
  const load = (id: string) => recall(id, keys, () => readKey(id, CACHE_SECONDS))

  return {
    load,
    find: async (sha256) => {
      const options = { type: 'text', cacheTtl: CACHE_SECONDS } as const
      const id = await recall(sha256, ids, async () => (await namespace.get(`hash:${sha256}`, options)) ?? undefined)
      const key = id === undefined ? undefined : await load(id)
      return key?.sha256.includes(sha256) ? key : undefined
    },
    recent: (id) => {
      const reading = keys.get(id)
      if (!reading) throw new Error(`the key "${id}" has not been read`)
      return reading.value
    },
    read: (id) => readKey(id),
    write: async (key) => {
      const { sha256, ...metadata } = { ...storedForm(key), sha256: key.sha256 }
      // The hash is written last, so that no hash leads to a key as it was before.
      await namespace.put(`key:${key.id}`, JSON.stringify(storedForm(key)), { metadata })
      for (const hash of sha256) await namespace.put(`hash:${hash}`, key.id, {})
      keys.set(key.id, { value: key, at: now() })
    },
    remove: async (key) => {
      await namespace.delete(`key:${key.id}`)
      for (const hash of key.sha256) await namespace.delete(`hash:${hash}`)
      keys.set(key.id, { value: undefined, at: now() })
    },
    list: async (after) => {
      const options = { prefix: 'key:', limit: PAGE, cursor: after }
      const { keys: entries, cursor } = await namespace.list(options)
      const summaries = entries.flatMap(({ metadata }) => (isSummary(metadata) ? [metadata] : []))
      return { keys: summaries, ...(cursor && { next: cursor }) }
    },
  }
}

function isSummary(value: unknown): value is Awaited<ReturnType<StoredKeys['list']>>['keys'][number] {
  return isObject(value) && typeof value['id'] === 'string'
}
