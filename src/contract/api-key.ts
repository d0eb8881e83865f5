import { type Budget, isBudget } from './budget.ts'
import { type Jurisdiction, JURISDICTIONS, type Location, LOCATIONS } from './conversation.ts'
import { ID } from './id.ts'
import { isObject } from './json.ts'
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
export function readApiKey(entry: Readonly<Record<string, unknown>>, name: string): ApiKey {
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
    ...(rate !== undefined && { rate }),
    ...(budget !== undefined && { budget }),
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
