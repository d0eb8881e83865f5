import type { KeyStates, Report } from '../../contract/setup.ts'
import { isStrings } from '../../contract/api-key.ts'
import { parseJson } from '../../contract/json.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import { messageOf } from '../../contract/thrown.ts'
import { Problem } from '../problem.ts'

/** The part of a KV namespace that is used here. */
export interface KeyNamespace {
  get(key: string, options: { readonly type: 'text'; readonly cacheTtl: number }): Promise<string | null>
  put(key: string, value: string, options: { readonly expirationTtl: number }): Promise<void>
}

export interface KeyStatesOptions {
  readonly namespace: KeyNamespace
  readonly report: Report
  readonly now?: () => number
}

/** The list's key in KV: a JSON array of the ids of disabled keys. */
const DISABLED = 'disabled'
const FRESH_MS = 5000
/** The shortest time for which KV can cache a value at a location, in seconds. */
const CACHE_SECONDS = 30
/**
 * How long the last use of a key is stored, in seconds. It must expire, because each caller of an identity provider
 * counts as a key.
 */
const USED_SECONDS = 400 * 24 * 60 * 60
/** How often, at most, an isolate records that a key is used. */
const USED_MS = 10 * 60 * 1000
/** For how many keys an isolate remembers that it has recorded their use. */
const MOST_KEYS = 10_000

/**
 * Reads from KV which keys are disabled, at most every five seconds. Records under `used:<id>` when a key was last
 * used, to within ten minutes, and stores that for 400 days. If KV fails, the list that was read last still applies; if
 * none was read yet, every request is refused.
 */
export function keyStates({ namespace, report, now = Date.now }: KeyStatesOptions): KeyStates {
  let disabled: ReadonlySet<string> | undefined
  let readAt = -Infinity
  const used = new RecentMap<string, true>({ most: MOST_KEYS, maxAgeMs: USED_MS, now })
  return {
    isDisabled: async (id) => {
      if (now() - readAt >= FRESH_MS) {
        readAt = now()
        try {
          const list = parseJson((await namespace.get(DISABLED, { type: 'text', cacheTtl: CACHE_SECONDS })) ?? '[]')
          if (!isStrings(list)) throw new TypeError('"disabled" in KEYS is not a JSON array of strings')
          disabled = new Set(list)
        } catch (error) {
          report({ event: 'keys.unreadable', detail: messageOf(error) })
        }
      }
      if (disabled) return disabled.has(id)
      readAt = -Infinity
      const message = 'Whether this key is disabled cannot be checked now.'
      throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: FRESH_MS })
    },
    used: async (id) => {
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
