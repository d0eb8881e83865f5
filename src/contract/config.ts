import { type ApiKey, isStrings, readApiKeys } from './api-key.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { WindowOptions } from './conversation.ts'
import { isObject } from './json.ts'
import type { ModelWindow, Patience } from './model.ts'
import { initialLimits, LIMITS, type Limits, limitsOf, NEVER } from './limits.ts'
import { type Quotas, quotasOf } from './quotas.ts'
import { type Compat, compatRounds, type DefaultRounds, optionValues, type RunOptionValues } from './run-options.ts'
import type { Price } from './usage.ts'
import { ConfigError, countVar, jsonVar, listVar, objectVar, oneOfVar, textVar, type Vars } from './vars.ts'

export { ConfigError } from './vars.ts'

/** The configuration of the edge, read from its variables and validated. */
export interface Config extends RunOptionValues {
  readonly model?: string
  readonly models: readonly string[]
  readonly auth: 'keys' | 'open'
  readonly apiKeys: readonly ApiKey[]
  /** The identity providers whose tokens are accepted beside API keys, which the part `identityTokens` reads. */
  readonly identityProviders: readonly IdentityProvider[]
  readonly system?: string
  readonly defaultTools: readonly string[]
  readonly limits: Limits
  readonly quotas: Quotas
  readonly maxQueue: number
  /** How many subrequests a run makes in one invocation. */
  readonly maxSubrequests: number
  /** How many objects list a tenant's conversations. */
  readonly directoryShards: number
  readonly maxBodyBytes: number
  /** Whether a call that reaches outward needs approval once the run has read both untrusted and private data. */
  readonly taintRule: boolean
  /** Whether results of callers' tools, and files that their messages link to, are marked as untrusted. */
  readonly callerData: 'untrusted' | 'trusted'
  /** Whether a request with a member that only hints, and that the edge cannot honour, is answered without it or refused. */
  readonly clientMembers: 'lenient' | 'strict'
  /** Whether a key may not decide about calls of runs that it started itself. */
  readonly fourEyes: boolean
  /** Whether the one who approves a call may change its arguments, which nobody else then sees. */
  readonly changesArguments: boolean
  readonly compat?: Compat
  /** Which text of a run the APIs of OpenAI show if a request does not say. */
  readonly rounds: DefaultRounds
  /** Whether the model searches for tools instead of being sent all of them. */
  readonly toolSearch: 'auto' | 'on' | 'off'
  /** Whether logs may hold arguments and results. */
  readonly includeContent: boolean
  /** For how many days the faults of a run are stored, with their details for operators. */
  readonly faultDays: number
  /** What is logged: only faults, or runs and their calls too. */
  readonly log: 'faults' | 'runs'
  /** How much of earlier turns a model sees; only the fields that are configured. */
  readonly window: Partial<WindowOptions>
  /** Hosts that webhooks may go to. */
  readonly webhookHosts: readonly string[]
  /** Default tool context; the values of a request override it. */
  readonly context: Readonly<Record<string, unknown>>
  /** Tool context that the values of a request do not override. */
  readonly pinnedContext: Readonly<Record<string, unknown>>
  /** When a tool that fails again and again is paused. Default: never. */
  readonly breaker?: { readonly failures: number; readonly pauseMs: number }
  /** The hosts from which the edge fetches files that requests link to; `*` stands for any public host. */
  readonly fileHosts: readonly string[]
  /** Prices of models, by `provider/name`. */
  readonly prices: Readonly<Record<string, Price>>
  /** The currency of the prices, as its ISO 4217 code. */
  readonly currency: string
  /** How long providers keep what they cache of prompts, where they let one choose. */
  readonly promptCache: '5m' | '1h' | 'off'
  /** What requests may add to those to providers, such as `anthropic.service_tier`. */
  readonly providerOptions: readonly string[]
  /** The context windows of models, by `provider/name` or glob. */
  readonly modelWindows: Readonly<Record<string, ModelWindow>>
  /** How long single models may be silent, by `provider/name`. */
  readonly patience: Readonly<Record<string, Patience>>
  readonly httpToolHosts: Readonly<Record<string, readonly string[]>>
  /** Bindings of tool Workers, or globs, whose tools are held back when their definitions change. */
  readonly holdChanged: readonly string[]
  /** Bindings of tool Workers, or globs, whose results are checked by output schemas. Default: all but `holdChanged`. */
  readonly checkOutputs: readonly string[] | undefined
  readonly corsOrigins: readonly string[]
  /** Whether the edge has the studio, at `/`. */
  readonly studio: boolean
}

/** Reads the configuration. Throws a ConfigError that names the first invalid variable, but never its value. */
export function readConfig(vars: Vars): Config {
  const model = textVar(vars, 'MODEL')
  const system = textVar(vars, 'SYSTEM_PROMPT')
  const isFree = oneOfVar(vars, 'WORKERS_PLAN', ['paid', 'free']) === 'free'
  const [compat] = [oneOfVar(vars, 'COMPAT', ['none', 'spring-ai', 'langchain4j'])].filter((name) => name !== 'none')
  return {
    model,
    models: readList(vars, 'MODELS', MODELS, /.\/.|\*$/) ?? (model === undefined ? [] : [model]),
    providerOptions: readList(vars, 'PROVIDER_OPTIONS', OPTIONS, OPTION) ?? [],
    auth: oneOfVar(vars, 'AUTH', ['keys', 'open']),
    apiKeys: readApiKeys(vars),
    identityProviders: [],
    system,
    defaultTools: listVar(vars, 'DEFAULT_TOOLS') ?? ['*'],
    limits: readLimits(vars, compat),
    quotas: quotasOf(({ variable, initial }) => wholeVar(vars, variable, initial)),
    maxQueue: countVar(vars, 'MAX_QUEUE', 128),
    maxSubrequests: countVar(vars, 'MAX_SUBREQUESTS', isFree ? FREE.maxSubrequests : 9000),
    directoryShards: countVar(vars, 'DIRECTORY_SHARDS', 1),
    maxBodyBytes: countVar(vars, 'MAX_BODY_BYTES', 1024 * 1024),
    ...readOptions(vars, compat),
    taintRule: oneOfVar(vars, 'TAINT_RULE', ['on', 'off']) === 'on',
    callerData: oneOfVar(vars, 'CALLER_DATA', compat ? ['trusted', 'untrusted'] : ['untrusted', 'trusted']),
    clientMembers: oneOfVar(vars, 'CLIENT_MEMBERS', ['lenient', 'strict']),
    ...readFourEyes(vars),
    ...(compat && { compat }),
    rounds: oneOfVar(
      vars,
      'ROUNDS',
      compatRounds(compat) === 'final' ? ['final', 'auto', 'all'] : ['auto', 'final', 'all'],
    ),
    toolSearch: oneOfVar(vars, 'TOOL_SEARCH', compat ? ['off', 'auto', 'on'] : ['auto', 'on', 'off']),
    faultDays: countVar(vars, 'FAULT_DAYS', 30),
    log: oneOfVar(vars, 'LOG', ['faults', 'runs']),
    includeContent: oneOfVar(vars, 'INCLUDE_CONTENT', ['false', 'true']) === 'true',
    window: { ...(isFree && FREE.window), ...(compat === 'spring-ai' && SPRING_WINDOW), ...readWindow(vars) },
    webhookHosts: listVar(vars, 'WEBHOOK_HOSTS') ?? [],
    ...readContext(vars),
    ...(textVar(vars, 'TOOL_BREAKER_FAILURES') !== 'off' && {
      breaker: {
        failures: countVar(vars, 'TOOL_BREAKER_FAILURES', 5),
        pauseMs: countVar(vars, 'TOOL_BREAKER_MS', 30_000),
      },
    }),
    prices: objectVar(vars, 'MODEL_PRICES', PRICES, isPrice),
    currency: readCurrency(vars),
    patience: objectVar(vars, 'MODEL_TIMEOUTS', TIMEOUTS, isPatience),
    promptCache: oneOfVar(vars, 'PROMPT_CACHE', ['5m', '1h', 'off']),
    modelWindows: objectVar(vars, 'MODEL_WINDOWS', WINDOWS, isWindow),
    fileHosts: listVar(vars, 'FILE_HOSTS') ?? [],
    httpToolHosts: objectVar(vars, 'HTTP_TOOL_HOSTS', 'a JSON object { host: [secret names] }', isStrings),
    holdChanged: bindingsOf(vars, 'HOLD_CHANGED') ?? ['TOOL_MCP*'],
    checkOutputs: bindingsOf(vars, 'CHECK_OUTPUTS'),
    corsOrigins: readList(vars, 'CORS_ORIGINS', ORIGINS, /^\w+:\/\/[^/*]+$/) ?? [],
    studio: oneOfVar(vars, 'STUDIO', ['on', 'off']) === 'on',
  }
}

function readCurrency(vars: Vars): string {
  const currency = textVar(vars, 'CURRENCY') ?? 'USD'
  if (/^[A-Z]{3}$/.test(currency)) return currency
  throw new ConfigError('CURRENCY', 'the ISO 4217 code of a currency, such as EUR')
}

function readFourEyes(vars: Vars): Pick<Config, 'fourEyes' | 'changesArguments'> {
  const value = oneOfVar(vars, 'FOUR_EYES', ['off', 'on', 'decisions'])
  return { fourEyes: value !== 'off', changesArguments: value !== 'on' }
}

/** Reads `TOOL_CONTEXT`, in which the names of pinned fields end with `!`. */
function readContext(vars: Vars): Pick<Config, 'context' | 'pinnedContext'> {
  const fields = Object.entries(objectVar(vars, 'TOOL_CONTEXT', 'a JSON object', (_value): _value is unknown => true))
  const isPinned = ([name]: readonly [string, unknown]) => name.endsWith('!')
  return {
    context: Object.fromEntries(fields.filter((field) => !isPinned(field))),
    pinnedContext: Object.fromEntries(fields.filter(isPinned).map(([name, value]) => [name.slice(0, -1), value])),
  }
}

function readOptions(vars: Vars, compat: Compat | undefined): RunOptionValues {
  return optionValues(({ variable, values, compat: ofLibrary }) => {
    const [initial, ...others] = values
    if (typeof initial === 'boolean') return oneOfVar(vars, variable, ['off', 'on']) === 'on'
    const first = (compat && ofLibrary) ?? initial
    return oneOfVar(vars, variable, [first, ...[initial, ...others].map(String).filter((value) => value !== first)])
  })
}

function readLimits(vars: Vars, compat: Compat | undefined): Limits {
  const initial = initialLimits(compat)
  const byTool = readCallsByTool(vars)
  const limits = limitsOf(({ variable, above, mayBeUnlimited }, name) => {
    if (mayBeUnlimited && String(vars[variable]) === UNLIMITED) return name in initial ? NEVER : undefined
    if (name === 'callsPerTool' && byTool) return byTool['*'] ?? Reflect.get(initial, name)
    if (vars[variable] === undefined || vars[variable] === '') return Reflect.get(initial, name)
    return above === undefined ? countVar(vars, variable, 0) : numberAbove(vars, variable, above)
  })
  return { ...limits, ...(byTool && { tools: byTool }) }
}

/** Reads `MAX_CALLS_PER_TOOL` where it is a JSON object of limits by the names of tools. */
function readCallsByTool(vars: Vars): Record<string, number> | undefined {
  const { variable } = LIMITS.callsPerTool
  if (!isObject(jsonVar(vars, variable, COUNT_BY_TOOL))) return undefined
  const byTool = objectVar(vars, variable, COUNT_BY_TOOL, (value) => value === -1 || isCount(value))
  return Object.fromEntries(Object.entries(byTool).map(([name, most]) => [name, most === -1 ? NEVER : most]))
}

/** What the Free plan needs: 50 subrequests an invocation, and 10 ms of CPU, in which a prompt is planned too. */
const FREE = { maxSubrequests: 40, window: { tokens: 8000 } } as const

/** The memory of Spring AI: the newest 20 messages, without the calls of tools. */
const SPRING_WINDOW: Partial<WindowOptions> = { messages: 20, show: 'answers' }

function readWindow(vars: Vars): Partial<WindowOptions> {
  const [messages, tokens] = [countVar(vars, 'MEMORY_MESSAGES', 0), countVar(vars, 'MEMORY_TOKENS', 0)]
  const shows = ['all', 'answers', 'none'] as const
  return {
    ...(messages > 0 && { messages }),
    ...(tokens > 0 && { tokens }),
    ...(textVar(vars, 'MEMORY_SHOW') !== undefined && {
      show: oneOfVar(vars, 'MEMORY_SHOW', shows),
    }),
    ...(oneOfVar(vars, 'MEMORY_SUMMARY', ['off', 'on']) === 'on' && { summary: true }),
  }
}

/** The value of a variable that lifts a limit. */
const UNLIMITED = '-1'

const COUNT_BY_TOOL =
  'a whole number from 1, -1 for no limit, or a JSON object of them by the names of tools ("*" for the rest)'
const PRICES =
  'a JSON object { "provider/name": { "input", "output", "cachedInput"?, "cacheWrite"?, "longCacheWrite"?, "webSearches"? } }, prices of a million tokens, and of a thousand searches'

const TIMEOUTS = 'a JSON object { "provider/name": { "firstByteMs"?, "silenceMs"? } }, in milliseconds'

const WINDOWS = 'a JSON object { "provider/name": { "contextTokens", "outputTokens"? } }'

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function isPatience(value: unknown): value is Patience {
  return isObject(value) && [value.firstByteMs ?? 1, value.silenceMs ?? 1].every(isCount)
}

function isWindow(value: unknown): value is ModelWindow {
  return isObject(value) && [value.contextTokens, value.outputTokens ?? 1].every(isCount)
}

function isPrice(value: unknown): value is Price {
  if (!isObject(value)) return false
  const { input, output, cachedInput = 0, cacheWrite = 0, longCacheWrite = 0, webSearches = 0 } = value
  return [input, output, cachedInput, cacheWrite, longCacheWrite, webSearches].every(
    (price) => typeof price === 'number' && price >= 0,
  )
}

/** Reads a variable as a whole number from 1 of any size. */
function wholeVar(vars: Vars, name: string, fallback: number): number {
  const value = vars[name]
  if (value === undefined || value === '') return fallback
  if (!Number.isSafeInteger(Number(value)) || Number(value) < 1) throw new ConfigError(name, 'a whole number from 1')
  return Number(value)
}

function numberAbove(vars: Vars, name: string, least: number): number {
  const value = Number(vars[name])
  if (!(value > least)) throw new ConfigError(name, `a number above ${least}`)
  return value
}

function bindingsOf(vars: Vars, name: string): string[] | undefined {
  return textVar(vars, name) === 'off'
    ? []
    : readList(vars, name, '"off" or a list of TOOL_… bindings', /^(?:TOOL_|\*)/)
}

const MODELS = 'a list of "provider/name" and "provider/*"'
const OPTIONS = 'a list of "provider.member", without prompt and tools'
/** The members with the prompt and tools are those of the edge alone. */
const OPTION = /^[^.]+\.(?!model|messages|input|contents|instructions|prompt$|stream|system|tool)\w+$/
const ORIGINS = 'a list of origins, such as https://app.example.com'

/** Reads a list. Throws if an item does not match the pattern: it would silently have no effect. */
function readList(vars: Vars, name: string, expected: string, pattern: RegExp): string[] | undefined {
  const items = listVar(vars, name)
  if (items && !items.every((item) => pattern.test(item))) throw new ConfigError(name, expected)
  return items
}
