import {
  type KeyChange,
  type KeyChangeReply,
  readStoredKey,
  type StoredKey,
  storedForm,
} from '../../contract/api-key.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import { withDeadline } from '../../contract/time-limit.ts'

/** The part of a KV namespace that is used for keys. */
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

/** The keys that were changed last, each with the time of its change in epoch milliseconds; null for a removed one. */
export interface ChangedKeys {
  get(id: string): { readonly key: StoredKey | null; readonly at: number } | undefined
  set(id: string, key: StoredKey | null, at: number): void
}

/** Where the keys are in KV, by their ids: `key:<id>`. */
export const KEY_PREFIX = 'key:'
/** How long a change is remembered, in milliseconds. KV may answer with an earlier value for a minute. */
export const REMEMBERED_MS = 10 * 60_000
/** How long KV may take for a change, in milliseconds. */
const KV_MS = 8000

/**
 * Makes the changes of stored keys one after another, so that none undoes another that it has not seen: a change names
 * the key that it was made of, and is refused if that is no longer the current one.
 */
export class KeyOrder {
  readonly #namespace: StoredKeyNamespace
  readonly #changed: ChangedKeys
  readonly #now: () => number
  #last: Promise<unknown> = Promise.resolve()

  constructor(namespace: StoredKeyNamespace, changed: ChangedKeys, now: () => number) {
    this.#namespace = namespace
    this.#changed = changed
    this.#now = now
  }

  /** Never rejects. */
  change(change: KeyChange): Promise<KeyChangeReply> {
    const work = () => withDeadline(KV_MS, this.#change(change))
    const turn = this.#last.then(work).catch((error: unknown): KeyChangeReply => {
      return { ok: false, code: 'keys_unavailable', detail: error instanceof Error ? error.message : String(error) }
    })
    this.#last = turn
    return turn
  }

  async #change({ id, before, after }: KeyChange): Promise<KeyChangeReply> {
    const recent = this.#changed.get(id)
    const isRecent = recent !== undefined && this.#now() < recent.at + REMEMBERED_MS
    const current = isRecent ? recent.key : ((await readKey(this.#namespace, id)) ?? null)
    if (!isSame(current, before)) return { ok: false, current }
    await writeKey(this.#namespace, current, after)
    this.#changed.set(id, after, this.#now())
    return { ok: true }
  }
}

/** Reads a key as it is stored. Throws if what is stored there is not a key. */
export async function readKey(
  namespace: Pick<StoredKeyNamespace, 'get'>,
  id: string,
  cacheTtl?: number,
): Promise<StoredKey | undefined> {
  const text = await namespace.get(`${KEY_PREFIX}${id}`, { type: 'text', ...(cacheTtl !== undefined && { cacheTtl }) })
  if (text === null) return undefined
  const entry = parseJson(text)
  if (!isObject(entry) || entry['id'] !== id) throw new TypeError(`"${KEY_PREFIX}${id}" in KEYS is not a key`)
  return readStoredKey(entry)
}

/** Returns where the id of a key is in KV, by a hash of the key. */
export function hashName(sha256: string): string {
  return `hash:${sha256}`
}

async function writeKey(namespace: StoredKeyNamespace, current: StoredKey | null, after: StoredKey | null) {
  if (after) {
    const { sha256, ...metadata } = { ...storedForm(after), sha256: after.sha256 }
    // The key is written last: until then the earlier one is valid, and a hash that it does not have leads to nothing.
    for (const hash of sha256) await namespace.put(hashName(hash), after.id, {})
    await namespace.put(`${KEY_PREFIX}${after.id}`, JSON.stringify(storedForm(after)), { metadata })
  } else if (current) {
    await namespace.delete(`${KEY_PREFIX}${current.id}`)
    for (const hash of current.sha256) await namespace.delete(hashName(hash))
  }
}

function isSame(a: StoredKey | null, b: StoredKey | null): boolean {
  const [one, other] = [a, b].map((key) => key && JSON.stringify(storedForm(key)))
  return one === other
}
