import { type Budget, isBudget } from './budget.ts'
import type { WindowOptions } from './conversation.ts'
import { ID } from './id.ts'
import { isObject } from './json.ts'
import { type Compat, DEFAULT_LIMITS, type Limits, type OnLimit, type RunRequest } from './run.ts'
import type { Price } from './usage.ts'
import { ConfigError, count, json, list, object, oneOf, text, type Vars } from './vars.ts'

export { ConfigError } from './vars.ts'

/** An API key, of which only the hash is configured. */
export interface ApiKey {
  /** Lower-case hex SHA-256 of the key. */
  readonly sha256: string
  readonly tenant: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds; Infinity for never. */
  readonly expires: number
  /** The name of the rate limit binding that counts its requests. Default: no limit. */
  readonly rate?: string
  /** Default: its usage is neither limited nor counted. */
  readonly budget?: Budget
}

/** The configuration of the edge, read from its variables and validated. */
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
  readonly onLimit: OnLimit
  readonly compensate: boolean
  readonly eager: boolean
  /** Whether a call that reaches outward needs approval once the run has read both untrusted and private data. */
  readonly taintRule: boolean
  readonly compat?: Compat
  /** Whether the model searches for tools instead of being sent all of them. */
  readonly toolSearch: 'auto' | 'on' | 'off'
  /** Whether logs may hold arguments and results. */
  readonly includeContent: boolean
  /** What is logged: only faults, or runs and their calls too. */
  readonly log: 'faults' | 'runs'
  /** How much of earlier turns a model sees; only the fields that are configured. */
  readonly window: Partial<WindowOptions>
  /** Hosts that webhooks may go to. */
  readonly webhookHosts: readonly string[]
  /** Default tool context; the values of a request override it. */
  readonly context: Readonly<Record<string, unknown>>
  /** Prices of models, by `provider/name`. */
  readonly prices: Readonly<Record<string, Price>>
  readonly httpToolHosts: Readonly<Record<string, readonly string[]>>
  /** Bindings of tool Workers, or globs, whose tools are held back when their definitions change. */
  readonly holdChanged: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly playground: boolean
}

/** Reads the configuration. Throws a ConfigError that names the first invalid variable, but never its value. */
export function readConfig(vars: Vars): Config {
  const model = text(vars, 'MODEL')
  const system = text(vars, 'SYSTEM_PROMPT')
  const [compat] = [oneOf(vars, 'COMPAT', ['none', 'spring-ai', 'langchain4j'])].filter((name) => name !== 'none')
  return {
    ...(model !== undefined && { model }),
    models: listOf(vars, 'MODELS', MODELS, /.\/.|\*$/) ?? (model === undefined ? [] : [model]),
    auth: oneOf(vars, 'AUTH', ['keys', 'open']),
    apiKeys: readKeys(vars),
    ...(system !== undefined && { system }),
    defaultTools: list(vars, 'DEFAULT_TOOLS') ?? ['*'],
    limits: readLimits(vars, compat),
    maxQueue: count(vars, 'MAX_QUEUE', 128),
    maxBodyBytes: count(vars, 'MAX_BODY_BYTES', 1024 * 1024),
    toolErrors: oneOf(vars, 'TOOL_ERRORS', ['model', 'fail']),
    execution: oneOf(vars, 'TOOL_EXECUTION', ['edge', 'caller']),
    onLimit: oneOf(vars, 'ON_LIMIT', compat ? ['fail', 'answer', 'model'] : ['answer', 'model', 'fail']),
    compensate: oneOf(vars, 'COMPENSATE', ['off', 'on']) === 'on',
    eager: oneOf(vars, 'EAGER_CALLS', ['off', 'on']) === 'on',
    taintRule: oneOf(vars, 'TAINT_RULE', ['on', 'off']) === 'on',
    ...(compat && { compat }),
    toolSearch: oneOf(vars, 'TOOL_SEARCH', ['auto', 'on', 'off']),
    log: oneOf(vars, 'LOG', ['faults', 'runs']),
    includeContent: oneOf(vars, 'INCLUDE_CONTENT', ['false', 'true']) === 'true',
    window: readWindow(vars),
    webhookHosts: list(vars, 'WEBHOOK_HOSTS') ?? [],
    context: object(vars, 'TOOL_CONTEXT', 'a JSON object', (_value): _value is unknown => true),
    prices: object(vars, 'MODEL_PRICES', PRICES, isPrice),
    httpToolHosts: object(vars, 'HTTP_TOOL_HOSTS', 'a JSON object { host: [secret names] }', isStrings),
    holdChanged: readHeld(vars),
    corsOrigins: listOf(vars, 'CORS_ORIGINS', ORIGINS, /^\w+:\/\/[^/*]+$/) ?? [],
    playground: oneOf(vars, 'PLAYGROUND', ['on', 'off']) === 'on',
  }
}

/** The defaults of the two libraries where they differ from ours; for no limit, one that is never reached. */
const COMPAT_LIMITS: Readonly<Record<Compat, Partial<Limits>>> = {
  'spring-ai': { steps: 1_000_000, concurrentCalls: 1 },
  langchain4j: { steps: 100, calls: 1_000_000, callsPerTool: 1_000_000, concurrentCalls: 1 },
}

function readLimits(vars: Vars, compat: Compat | undefined): Limits {
  const most = { ...DEFAULT_LIMITS, ...(compat && COMPAT_LIMITS[compat]) }
  const ofTools = json(vars, 'MAX_CALLS_PER_TOOL', CALLS_PER_TOOL)
  const perTool = isObject(ofTools) ? object(vars, 'MAX_CALLS_PER_TOOL', CALLS_PER_TOOL, isCount) : undefined
  const optional = {
    sameCalls: count(vars, 'MAX_SAME_CALLS', 0),
    tokens: count(vars, 'MAX_TOKENS', 0),
    cost: cost(vars, 'MAX_COST'),
  }
  return {
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value > 0)),
    ...(perTool && { tools: perTool }),
    steps: count(vars, 'MAX_STEPS', most.steps),
    calls: count(vars, 'MAX_CALLS', most.calls),
    callsPerTool: perTool ? (perTool['*'] ?? most.callsPerTool) : count(vars, 'MAX_CALLS_PER_TOOL', most.callsPerTool),
    callMs: count(vars, 'CALL_TIMEOUT_MS', most.callMs),
    runMs: count(vars, 'RUN_TIMEOUT_MS', most.runMs),
    resultBytes: count(vars, 'MAX_RESULT_BYTES', most.resultBytes),
    concurrentCalls: count(vars, 'MAX_CONCURRENT_CALLS', most.concurrentCalls),
  }
}

function readWindow(vars: Vars): Partial<WindowOptions> {
  const [messages, tokens] = [count(vars, 'MEMORY_MESSAGES', 0), count(vars, 'MEMORY_TOKENS', 0)]
  return {
    ...(messages > 0 && { messages }),
    ...(tokens > 0 && { tokens }),
    ...(text(vars, 'MEMORY_SHOW') !== undefined && { show: oneOf(vars, 'MEMORY_SHOW', ['all', 'answers', 'none']) }),
    ...(oneOf(vars, 'MEMORY_SUMMARY', ['off', 'on']) === 'on' && { summary: true }),
  }
}

const CALLS_PER_TOOL = 'a whole number from 1, or a JSON object of them by the names of tools ("*" for the rest)'
const PRICES = 'a JSON object { "provider/name": { "input", "output", "cachedInput"? } }, prices of a million tokens'

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function isPrice(value: unknown): value is Price {
  if (!isObject(value)) return false
  const { input, output, cachedInput = 0 } = value
  return [input, output, cachedInput].every((price) => typeof price === 'number' && price >= 0)
}

function cost(vars: Vars, name: string): number {
  const value = Number(vars[name] ?? 0)
  if (!(value >= 0)) throw new ConfigError(name, 'a number above 0')
  return value
}

function readHeld(vars: Vars): string[] {
  if (text(vars, 'HOLD_CHANGED') === 'off') return []
  return listOf(vars, 'HOLD_CHANGED', '"off" or a list of TOOL_… bindings', /^(?:TOOL_|\*)/) ?? ['TOOL_MCP*']
}

const MODELS = 'a list of "provider/name" and "provider/*"'
const ORIGINS = 'a list of origins, such as https://app.example.com'

/** Reads a list. Throws if an item does not match the pattern: it would silently have no effect. */
function listOf(vars: Vars, name: string, expected: string, pattern: RegExp): string[] | undefined {
  const items = list(vars, name)
  if (items && !items.every((item) => pattern.test(item))) throw new ConfigError(name, expected)
  return items
}

const KEYS =
  'a JSON array of { "sha256": 64 hex digits, "tenant": 1 to 64 letters, digits, "_" or "-", "scopes": [texts], "expires"?: ISO 8601 date or epoch milliseconds, "rate"?: text, "budget"?: { "tokens"?, "cost"?, "per": "day" or "month" } }'

function readKeys(vars: Vars): ApiKey[] {
  const keys = json(vars, 'API_KEYS', KEYS) ?? []
  if (!Array.isArray(keys)) throw new ConfigError('API_KEYS', KEYS)
  return keys.map((key: unknown) => {
    const { sha256, tenant, scopes, expires, rate, budget } = isObject(key) ? key : {}
    const until = typeof expires === 'string' ? Date.parse(expires) : (expires ?? Infinity)
    if (!isLike(sha256, /^[0-9a-f]{64}$/i) || !isLike(tenant, ID) || !isStrings(scopes) || !isTime(until)) {
      throw new ConfigError('API_KEYS', KEYS)
    }
    const terms = { ...(rate !== undefined && { rate }), ...(budget !== undefined && { budget }) }
    if (!isTerms(terms)) throw new ConfigError('API_KEYS', KEYS)
    return { sha256: sha256.toLowerCase(), tenant, scopes, expires: until, ...terms }
  })
}

function isTerms(value: { rate?: unknown; budget?: unknown }): value is Pick<ApiKey, 'rate' | 'budget'> {
  const { rate = '-', budget = { per: 'day' } } = value
  return isLike(rate, /./) && isBudget(budget)
}

function isLike(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(value)
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
