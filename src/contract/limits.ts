import type { Compat } from './run-options.ts'
import { foreignNames, type NamedTool, operatorNames } from './tool-names.ts'

/** The rule of one limit: where an edge sets it, and what it is by default. */
interface LimitRule {
  /** The variable of the edge that sets the limit. A request may lower it by the member of `limits` of the same name. */
  readonly variable: string
  /** The value if the variable is not set. Default: no limit. */
  readonly initial?: number
  /** The values that take the place of `initial` in an edge with `COMPAT`. */
  readonly compat?: Readonly<Partial<Record<Compat, number>>>
  /** The least value, which need not be whole. Default: whole numbers from 1. */
  readonly above?: number
  /** Whether the variable may be -1 for no limit. */
  readonly mayBeUnlimited?: true
}

/** The value that stands for “no limit” where a run must have a value. */
export const NEVER = 1_000_000

/**
 * The limits of a run. This is the only list of them: the configuration, the schema of requests, the OpenAPI document
 * and docs/run-configuration.md are made from it, the texts from the comments here. By default, a limit that is reached
 * leads to one last answer without tools (see `OnLimit`); only `runMs` and
 * `answerCharacters` end the run at once. A variable of -1 lifts a limit on calls, steps, tokens or cost.
 */
export const LIMITS = {
  /** The maximum number of model answers that call tools. The final answer does not count. */
  steps: { variable: 'MAX_STEPS', mayBeUnlimited: true, initial: 50, compat: { 'spring-ai': NEVER, langchain4j: 100 } },
  /** The maximum number of tool calls in a run. */
  calls: { variable: 'MAX_CALLS', mayBeUnlimited: true, initial: 150, compat: { langchain4j: NEVER } },
  /** The maximum number of calls of any one tool. */
  callsPerTool: { variable: 'MAX_CALLS_PER_TOOL', mayBeUnlimited: true, initial: 40, compat: { langchain4j: NEVER } },
  /** The time limit of one call, in milliseconds. */
  callMs: { variable: 'CALL_TIMEOUT_MS', initial: 30_000 },
  /** The time limit of the run, in milliseconds. Time in which it waits for people or for its caller does not count. */
  runMs: { variable: 'RUN_TIMEOUT_MS', initial: 900_000 },
  /** The maximum number of bytes of a result that the model gets. It can read the rest with `read_result`. */
  resultBytes: { variable: 'MAX_RESULT_BYTES', initial: 65_536 },
  /**
   * The maximum number of characters of one model answer, with its reasoning and calls. A longer answer fails the run
   * with `model_answer_too_large`.
   */
  answerCharacters: { variable: 'MAX_ANSWER_CHARACTERS', initial: 1_000_000 },
  /**
   * The time within which a model must send the first byte of its answer, in milliseconds. Otherwise the request fails
   * with `model_timeout`. `MODEL_TIMEOUTS` sets this time and that of `silenceMs` for some models.
   */
  firstByteMs: { variable: 'MODEL_FIRST_BYTE_MS', initial: 30_000 },
  /** The longest time between two bytes of a model's answer, in milliseconds. Heartbeats count as bytes. */
  silenceMs: { variable: 'MODEL_SILENCE_MS', initial: 60_000 },
  /**
   * How long a run waits in all, in milliseconds, for an answer of a model that is overloaded or cannot be reached, beyond
   * the first two retries. 1 turns waiting off; a run whose request names neither a conversation nor this limit waits ten seconds at most. The wait ends with `runMs`, and with the request of a run that is not stored.
   */
  modelWaitMs: { variable: 'MODEL_WAIT_MS', initial: 120_000 },
  /**
   * How long a run waits for a person or its caller, in milliseconds. Then calls that wait for approval are rejected, and
   * those that the caller was to run fail. The run of an agent waits as long as it may last.
   */
  waitMs: { variable: 'MAX_WAIT_MS', initial: 86_400_000 },
  /** The maximum number of calls that run at the same time. */
  concurrentCalls: { variable: 'MAX_CONCURRENT_CALLS', initial: 8, compat: { 'spring-ai': 1, langchain4j: 1 } },
  /** The maximum number of input and output tokens of all steps together. */
  tokens: { variable: 'MAX_TOKENS', mayBeUnlimited: true },
  /** The maximum cost of all steps together, in the currency of `MODEL_PRICES`. */
  cost: { variable: 'MAX_COST', mayBeUnlimited: true, above: 0 },
  /**
   * The maximum number of calls of one tool with the same arguments. Further ones are refused with `repeated_call`, and so
   * is a call that the model makes a third time in a row after two equal results. After three answers with nothing but such
   * calls, the next answer is the last one.
   */
  sameCalls: {
    variable: 'MAX_SAME_CALLS',
    mayBeUnlimited: true,
    initial: 10,
    compat: { 'spring-ai': NEVER, langchain4j: NEVER },
  },
} as const satisfies Readonly<Record<string, LimitRule>>

type Rules = typeof LIMITS
/** The name of a limit, as in the `limits` of a request. */
export type Limit = keyof Rules
type Initial = { [Name in Limit]: Rules[Name] extends { readonly initial: number } ? Name : never }[Limit]

/** The limits of a run, by name; those that are not here do not limit it. */
export type Limits = { readonly [Name in Initial]: number } & {
  readonly [Name in Exclude<Limit, Initial>]?: number
} & {
  /** The maximum number of calls of single tools, by name, instead of `callsPerTool`. */
  readonly tools?: Readonly<Record<string, number>>
}

/** A limit that ends a run, or its use of tools, when it is reached. */
export type LimitName = Extract<Limit, 'steps' | 'calls' | 'callsPerTool' | 'sameCalls' | 'runMs' | 'tokens' | 'cost'>

/** Returns the limits with their rules. */
export function limitRules(): readonly (readonly [name: string, rule: LimitRule])[] {
  return Object.entries(LIMITS)
}

/** Returns the initial values of the limits; with `compat`, those of a library. */
export function initialLimits(compat?: Compat): Limits {
  return limitsOf((rule) => (compat && rule.compat?.[compat]) ?? rule.initial)
}

/** Makes limits of a value for each of them; undefined stands for no limit. */
export function limitsOf(valueOf: (rule: LimitRule, name: string) => number | undefined): Limits {
  const entries = limitRules().map(([name, rule]): readonly unknown[] => [name, valueOf(rule, name)])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** The limits of a run if nothing else is configured. */
export const DEFAULT_LIMITS = initialLimits()

/** Returns how many calls of a tool a run may make: the least number that is set for one of its names. */
export function mostCalls(
  { tools = {}, callsPerTool }: Pick<Limits, 'tools' | 'callsPerTool'>,
  tool: NamedTool,
): number {
  const names = [...operatorNames(tool), ...foreignNames(tool)]
  const counts = names.flatMap((name) => (Object.hasOwn(tools, name) ? (tools[name] ?? []) : []))
  return counts.length > 0 ? Math.min(...counts) : callsPerTool
}

const MIB = 1024 * 1024

/**
 * Returns the most bytes of a result that are stored whole: 8 MiB, and 32 MiB for all calls that run at the same time.
 * An isolate has 128 MB, in which a text may take two bytes for each character, and once more while it is stored.
 */
export function mostResultBytes(concurrentCalls: number): number {
  return Math.floor(Math.min(8, 32 / concurrentCalls) * MIB)
}

/** Lowers limits to those of a request, which may ask for less than the edge allows, never for more. */
export function lowerLimits(limits: Limits, { tools, ...request }: Partial<Limits>): Limits {
  const edge: Partial<Record<string, unknown>> = limits
  const lower = (value: number, most: unknown) => (typeof most === 'number' ? Math.min(value, most) : value)
  const lowerEntries = Object.entries(request).map(([name, value]) => [name, lower(value, edge[name])])
  const byTool = Object.entries(tools ?? {}).map(([name, value]) => [
    name,
    Math.min(value, mostCalls(limits, { name })),
  ])
  return {
    ...limits,
    ...Object.fromEntries(lowerEntries),
    ...(tools && { tools: { ...limits.tools, ...Object.fromEntries(byTool) } }),
  }
}
