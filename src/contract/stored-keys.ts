import { type ApiKey, readApiKey } from './api-key.ts'
import type { Json } from './json.ts'

/** An API key that an operator has stored, and may change without a deployment. */
export interface StoredKey extends ApiKey {
  /** Whether it lets nobody in. */
  readonly disabled: boolean
}

/** What a list of stored keys says of each. */
export type StoredKeySummary = Readonly<Record<string, Json>> & { readonly id: string }

/** The stored API keys of an edge. Each method rejects while they cannot be read, and none was read before. */
export interface StoredKeys {
  /** Returns the key that has this hash. It may be as it was some seconds ago. */
  readonly find: (sha256: string) => Promise<StoredKey | undefined>
  /** Returns a key by its id. It may be as it was some seconds ago. Afterwards `recent` has it. */
  readonly load: (id: string) => Promise<StoredKey | undefined>
  /** Returns a key as this isolate has read it last. Throws if it never has: terms that are unknown are not left out. */
  readonly recent: (id: string) => StoredKey | undefined
  /** Returns a key as it is stored, past all caches of this edge. */
  readonly read: (id: string) => Promise<StoredKey | undefined>
  readonly write: (key: StoredKey) => Promise<void>
  readonly remove: (key: StoredKey) => Promise<void>
  /** Returns a page of the keys, in the order of their ids, and where the next one begins. */
  readonly list: (after?: string) => Promise<{ readonly keys: readonly StoredKeySummary[]; readonly next?: string }>
}

/** Reads a key as it is stored. Throws a ConfigError that says what is expected. */
export function readStoredKey(entry: Readonly<Record<string, unknown>>): StoredKey {
  return { ...readApiKey(entry, 'KEYS'), disabled: entry['disabled'] === true }
}

/** Returns a key as it is stored, without what is derived from it: JSON has no Infinity. */
export function storedForm(key: StoredKey): object {
  const { expires, formerIds: _, ...terms } = key
  return expires === Infinity ? terms : { ...terms, expires }
}
