import { type Budget, isBudget } from './budget.ts'
import { type Jurisdiction, JURISDICTIONS, type Location, LOCATIONS } from './conversation.ts'
import { ID } from './id.ts'
import { isObject, type Json } from './json.ts'
import { ConfigError, jsonVar, type Vars } from './vars.ts'

/** What a key may allow. `docs/deploy.md` describes each. Policies can require other scopes of callers, too. */
export const SCOPES = [
  'chat',
  'tools:read',
  'tools:write',
  'tools:admin',
  'approve',
  'metrics',
  'backup',
  'keys',
  'schedules',
] as const

export type Scope = (typeof SCOPES)[number]

/** What a caller may use. */
export interface CallerTerms {
  /** The name of the rate limit binding that counts its requests. Default: no limit. */
  readonly rate?: string
  /** Default: its usage is neither limited nor counted. */
  readonly budget?: Budget
  /** Under which names its usage was counted before it had an id. Default: under none. */
  readonly formerIds?: readonly string[]
  /** The preferred region of the conversations that it creates. Default: near the request that creates them. */
  readonly location?: Location
  /** The jurisdiction of all conversations that it may use. Default: any. */
  readonly jurisdiction?: Jurisdiction
}

/** An API key, of which only hashes are configured. */
export interface ApiKey extends CallerTerms {
  /** Names the key in records and in the list of disabled keys. Default: the first 12 digits of the first hash. */
  readonly id: string
  /** Lower-case hex SHA-256 of the key; two while it is rotated. */
  readonly sha256: readonly string[]
  readonly tenant: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds; Infinity for never. */
  readonly expires: number
}

/** Where the conversations of a caller may be stored, in the message about a variable that cannot be read. */
export const PLACE = `"location"?: ${LOCATIONS.join(' or ')}, "jurisdiction"?: ${JURISDICTIONS.join(' or ')}`

const KEYS = `a JSON array of { "id"?: 1 to 64 letters, digits, "_" or "-", once each, "sha256": 64 hex digits or two such texts, "tenant": as the id, "scopes": [texts], "expires"?: ISO 8601 date or epoch milliseconds, "rate"?: text, "budget"?: { "tokens"?, "cost"?, "per": "day" or "month" }, ${PLACE} }`

/** How many digits of a key's hash name a key that has no id. */
const KEY_DIGITS = 12

/** Reads `API_KEYS`. Throws a ConfigError that says what is expected, and never what there is. */
export function readApiKeys(vars: Vars): ApiKey[] {
  const keys = objectsVar(vars, 'API_KEYS', KEYS).map((entry) => readApiKey(entry, 'API_KEYS'))
  // The same key may be configured twice, for two tenants; the last entry counts.
  const owners = new Map(keys.map(({ id, sha256 }) => [id, sha256[0]]))
  if (keys.some(({ id, sha256 }) => owners.get(id) !== sha256[0])) throw new ConfigError('API_KEYS', KEYS)
  return keys
}

/** Reads the entry of a key, of the variable or binding with this name. Throws a ConfigError that says what is expected. */
function readApiKey(entry: Readonly<Record<string, unknown>>, name: string): ApiKey {
  const { id, sha256, tenant, scopes, expires } = entry
  const hashes = typeof sha256 === 'string' ? [sha256] : sha256
  const until = typeof expires === 'string' ? Date.parse(expires) : (expires ?? Infinity)
  const isKey = isStrings(hashes) && [1, 2].includes(hashes.length) && hashes.every((hash) => HASH.test(hash))
  if (!isKey || !isLike(tenant, ID) || !isStrings(scopes) || !isTime(until)) throw new ConfigError(name, KEYS)
  if (id !== undefined && !isLike(id, ID)) throw new ConfigError(name, KEYS)
  const lower = hashes.map((hash) => hash.toLowerCase())
  const digits = lower.map((hash) => hash.slice(0, KEY_DIGITS))
  const terms = callerTerms(entry, name, KEYS)
  return {
    id: id ?? digits[0] ?? '',
    sha256: lower,
    tenant,
    scopes,
    expires: until,
    ...terms,
    ...(id !== undefined && terms.budget && { formerIds: digits }),
  }
}

/** Reads a variable as a JSON array of objects. Throws a ConfigError that says what is expected. */
export function objectsVar(vars: Vars, name: string, expected: string): readonly Readonly<Record<string, unknown>>[] {
  const list = jsonVar(vars, name, expected) ?? []
  if (!Array.isArray(list) || !list.every(isObject)) throw new ConfigError(name, expected)
  return list
}

/** Checks the terms of a caller that a variable configures. Throws a ConfigError that says what is expected. */
export function callerTerms(
  { rate, budget, location, jurisdiction }: Readonly<Record<string, unknown>>,
  name: string,
  expected: string,
): CallerTerms {
  if (rate !== undefined && !isLike(rate, /./)) throw new ConfigError(name, expected)
  if (budget !== undefined && !isBudget(budget)) throw new ConfigError(name, expected)
  const region = LOCATIONS.find((each) => each === location)
  const area = JURISDICTIONS.find((each) => each === jurisdiction)
  if (region !== location || area !== jurisdiction) throw new ConfigError(name, expected)
  return {
    rate,
    budget,
    ...(region && { location: region }),
    ...(area && { jurisdiction: area }),
  }
}

const HASH = /^[0-9a-f]{64}$/i

export function isLike(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(value)
}

export function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** An API key that an operator has stored, and may change without a deployment. */
export interface StoredKey extends ApiKey {
  /** Whether it lets nobody in. */
  readonly disabled: boolean
}

/** A change of a stored key: what it was, and what it is to be; null where there is no such key. */
export interface KeyChange {
  readonly id: string
  readonly before: StoredKey | null
  readonly after: StoredKey | null
}

/** What a change came to. If another was made meanwhile, this one is not, and `current` is what the key is now. */
export type KeyChangeReply =
  | { readonly ok: true }
  | { readonly ok: false; readonly current: StoredKey | null }
  | { readonly ok: false; readonly code: 'keys_unavailable'; readonly detail: string }

/** The object that orders changes of stored keys, and knows the list of disabled keys while KV fails. */
export interface KeyOrderService {
  changeKey(change: KeyChange): Promise<KeyChangeReply>
  /** Returns the ids of the disabled keys as they were told last; null if they never were. */
  disabledKeys(): Promise<readonly string[] | null>
  tellDisabledKeys(ids: readonly string[]): Promise<void>
}

/** What a list of stored keys says of each. */
type StoredKeySummary = Readonly<Record<string, Json>> & { readonly id: string }

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
  /** Makes, changes or removes a key, unless it has been changed meanwhile. */
  readonly change: (change: KeyChange) => Promise<KeyChangeReply>
  /** Returns a page of the keys, in the order of their ids, and where the next one begins. */
  readonly list: (after?: string) => Promise<{ readonly keys: readonly StoredKeySummary[]; readonly next?: string }>
}

/** Reads a key as it is stored. Throws a ConfigError that says what is expected. */
export function readStoredKey(entry: Readonly<Record<string, unknown>>): StoredKey {
  const { disabled = false } = entry
  if (typeof disabled !== 'boolean') throw new ConfigError('KEYS', 'a key whose "disabled" is true or false')
  return { ...readApiKey(entry, 'KEYS'), disabled }
}

/** Returns a key as it is stored, without what is derived from it: JSON has no Infinity. */
export function storedForm(key: StoredKey): object {
  const { expires, formerIds: _, ...terms } = key
  return expires === Infinity ? terms : { ...terms, expires }
}
