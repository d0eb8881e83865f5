import { ID } from './id.ts'
import { isObject } from './json.ts'
import type { Limits, RunRequest } from './run.ts'

/** An API key, known by the hash of its text. */
export interface ApiKey {
  /** Lower-case hex SHA-256 of the key. */
  readonly sha256: string
  readonly tenant: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds; Infinity for never. */
  readonly expires: number
}

/** The edge's variables, read and checked (API.md §0). */
export interface Config {
  readonly model?: string
  readonly models: readonly string[]
  readonly auth: 'keys' | 'open'
  readonly apiKeys: readonly ApiKey[]
  readonly system?: string
  readonly defaultTools: readonly string[]
  readonly limits: Limits
  readonly maxQueue: number
  readonly maxBodyBytes: number
  readonly toolErrors: RunRequest['toolErrors']
  readonly execution: RunRequest['execution']
  readonly httpToolHosts: Readonly<Record<string, readonly string[]>>
  readonly corsOrigins: readonly string[]
  readonly playground: boolean
}

/** A variable that cannot be read; the edge answers nothing until it is mended. */
export class ConfigError extends Error {
  readonly variable: string

  constructor(variable: string, expected: string) {
    super(`${variable} must be ${expected}`)
    this.name = 'ConfigError'
    this.variable = variable
  }
}

type Vars = Readonly<Record<string, unknown>>

/** Reads the configuration. Throws a ConfigError that names the first variable which is wrong, and never its value. */
export function readConfig(vars: Vars): Config {
  const model = text(vars, 'MODEL')
  const system = text(vars, 'SYSTEM_PROMPT')
  return {
    ...(model !== undefined && { model }),
    models: list(vars, 'MODELS') ?? (model === undefined ? [] : [model]),
    auth: oneOf(vars, 'AUTH', ['keys', 'open']),
    apiKeys: readKeys(vars),
    ...(system !== undefined && { system }),
    defaultTools: list(vars, 'DEFAULT_TOOLS') ?? ['*'],
    limits: readLimits(vars),
    maxQueue: count(vars, 'MAX_QUEUE', 128),
    maxBodyBytes: count(vars, 'MAX_BODY_BYTES', 1024 * 1024),
    toolErrors: oneOf(vars, 'TOOL_ERRORS', ['model', 'fail']),
    execution: oneOf(vars, 'TOOL_EXECUTION', ['edge', 'caller']),
    httpToolHosts: readHosts(vars),
    corsOrigins: list(vars, 'CORS_ORIGINS') ?? [],
    playground: text(vars, 'PLAYGROUND') !== 'off',
  }
}

function readLimits(vars: Vars): Limits {
  return {
    steps: count(vars, 'MAX_STEPS', 50),
    calls: count(vars, 'MAX_CALLS', 150),
    callsPerTool: count(vars, 'MAX_CALLS_PER_TOOL', 40),
    callMs: count(vars, 'CALL_TIMEOUT_MS', 30_000),
    runMs: count(vars, 'RUN_TIMEOUT_MS', 900_000),
    resultBytes: count(vars, 'MAX_RESULT_BYTES', 65_536),
    concurrentCalls: count(vars, 'MAX_CONCURRENT_CALLS', 8),
  }
}

function text(vars: Vars, name: string): string | undefined {
  const value = vars[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function list(vars: Vars, name: string): string[] | undefined {
  return text(vars, name)
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Larger counts are typing mistakes, and over what a timer takes. */
const MOST = 2 ** 31 - 1

function count(vars: Vars, name: string, fallback: number): number {
  const value = vars[name]
  if (value === undefined || value === '') return fallback
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1 || number > MOST) throw new ConfigError(name, 'a whole number from 1')
  return number
}

function oneOf<Value extends string>(vars: Vars, name: string, values: readonly [Value, ...Value[]]): Value {
  const value = text(vars, name)
  if (value === undefined) return values[0]
  const found = values.find((candidate) => candidate === value)
  if (found === undefined) throw new ConfigError(name, values.map((each) => `"${each}"`).join(' or '))
  return found
}

function json(vars: Vars, name: string, expected: string): unknown {
  const value = vars[name]
  if (value === undefined || value === '') return undefined
  // A var of wrangler.toml may be JSON already.
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    throw new ConfigError(name, expected)
  }
}

const KEYS =
  'a JSON array of { "sha256": 64 hex digits, "tenant": 1 to 64 letters, digits, "_" or "-", "scopes": [texts], "expires"?: ISO 8601 date or epoch milliseconds }'

function readKeys(vars: Vars): ApiKey[] {
  const keys = json(vars, 'API_KEYS', KEYS) ?? []
  if (!Array.isArray(keys)) throw new ConfigError('API_KEYS', KEYS)
  return keys.map((key: unknown) => {
    const { sha256, tenant, scopes, expires } = isObject(key) ? key : {}
    const until = typeof expires === 'string' ? Date.parse(expires) : (expires ?? Infinity)
    if (!isLike(sha256, /^[0-9a-f]{64}$/i) || !isLike(tenant, ID) || !isStrings(scopes) || !isTime(until)) {
      throw new ConfigError('API_KEYS', KEYS)
    }
    return { sha256: sha256.toLowerCase(), tenant, scopes, expires: until }
  })
}

function isLike(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(value)
}

function readHosts(vars: Vars): Record<string, readonly string[]> {
  const expected = 'a JSON object { host: [secret names] }'
  const hosts = json(vars, 'HTTP_TOOL_HOSTS', expected) ?? {}
  if (!isObject(hosts)) throw new ConfigError('HTTP_TOOL_HOSTS', expected)
  return Object.fromEntries(
    Object.entries(hosts).map(([host, secrets]) => {
      if (!isStrings(secrets)) throw new ConfigError('HTTP_TOOL_HOSTS', expected)
      return [host, secrets]
    }),
  )
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
