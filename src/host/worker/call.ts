import * as v from 'valibot'
import { countableUsage } from '../../contract/usage.ts'
import type { InputNeeds } from '../../contract/input.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import {
  failure,
  type Tool,
  type ToolControl,
  type ToolDescription,
  type ToolOutcome,
  type ToolRequest,
} from '../../contract/tool.ts'
import { either, isText, plainObject, someText } from '../../wire/schema.ts'
import { toolChanged } from '../../tool/pinned-tools.ts'
import { controlSignal, within } from '../../contract/time-limit.ts'
import { parseExactly } from '../../contract/exact-numbers.ts'
import { isOutage, messageOf } from '../../contract/thrown.ts'
import { toolFields } from '../../wire/tool-fields.ts'

export interface ServiceCallOptions {
  readonly binding: ToolBinding
  readonly transport: 'rpc' | 'fetch'
  /** Asks the Worker again for its description, whatever is cached. */
  readonly describe: () => Promise<DescribeResult>
  /** Whether a tool that has changed is refused even if its input schema is the same. Default false. */
  readonly exact?: boolean | undefined
}

/**
 * Returns the functions that reach a tool of a tool Worker. If the tool says that it has changed since
 * (`schema_mismatch`), it did not run: the call is sent again if the input schema is still the same, else the model is
 * told. An exception or a bad answer of the Worker becomes a failed outcome, or the status `unknown`.
 */
export function callService(
  definition: ToolDefinition,
  options: ServiceCallOptions,
): Pick<Tool, 'call' | 'status' | 'undo' | 'poll'> {
  const { name, hash, inputSchema, reconcile, undo, later } = definition
  const call: Tool['call'] = async (request, control) => {
    const outcome = await send(request, control, options)
    if (!isMismatch(outcome)) return outcome
    const description = await options.describe()
    if (!description.ok) return unreachable(name, description.detail)
    const current = description.tools.find((tool) => tool.name === name)
    if (!current) return failure('tool_unavailable', `The tool "${name}" is not available any more.`)
    // The arguments still mean the same only if the model saw this definition and the input schema is unchanged.
    if (options.exact || request.hash !== hash || canonicalJson(current.inputSchema) !== canonicalJson(inputSchema))
      return toolChanged(name)
    const retried = await send({ ...request, hash: current.hash }, control, options)
    return isMismatch(retried) ? toolChanged(name) : retried
  }
  return {
    call,
    ...(reconcile && {
      status: async (request) => {
        const answer = callWorker(options, 'status', () => options.binding.status?.(request), request)
        const status = readAnswer(Status, await answer.catch(() => 'unknown'))
        return typeof status === 'string' ? 'unknown' : status.value
      },
    }),
    ...(later && {
      poll: (request, state) =>
        readOutcome(
          name,
          callWorker(options, 'poll', () => options.binding.poll?.(request, state), { request, state }),
        ),
    }),
    ...(undo && {
      undo: (request, outcome) =>
        readOutcome(
          name,
          callWorker(options, 'undo', () => options.binding.undo?.(request, outcome), { request, outcome }),
        ),
    }),
  }
}

function isMismatch(outcome: ToolOutcome): boolean {
  return !outcome.ok && outcome.error.code === 'schema_mismatch'
}

/** Returns the outcome of a call that never reached its tool. */
export function unreachable(name: string, detail: string): ToolOutcome {
  return failure('tool_unreachable', `The tool "${name}" cannot be reached.`, detail)
}

function send(request: ToolRequest, control: ToolControl, options: ServiceCallOptions): Promise<ToolOutcome> {
  return readOutcome(
    request.name,
    callWorker(options, 'call', () => options.binding.call?.(request, control), request, control),
  )
}

/** Asks over the interface that the Worker has: an RPC method, or `POST` with a body to the path of the same name. */
async function callWorker(
  { binding, transport }: ServiceCallOptions,
  method: string,
  overRpc: () => Promise<unknown> | undefined,
  ...[body, control]: [body: unknown, control?: ToolControl]
): Promise<unknown> {
  if (transport === 'rpc') return overRpc() ?? missingMethod(method)
  return askByFetch(binding, `POST /${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: controlSignal(control),
  })
}

/** The codes of calls whose Worker the edge cannot reach or has lost. No Worker can say that of itself. */
export const OWN_CODES: ReadonlySet<string> = new Set(['tool_unreachable', 'tool_lost'])

function withOwnCode(outcome: ToolOutcome): ToolOutcome {
  if (outcome.ok || !OWN_CODES.has(outcome.error.code)) return outcome
  return { ...outcome, error: { ...outcome.error, code: 'tool_failed' } }
}

async function readOutcome(name: string, answer: Promise<unknown>): Promise<ToolOutcome> {
  try {
    const outcome = readAnswer(Outcome, await answer)
    if (typeof outcome !== 'string') return withOwnCode(outcome.value)
    return failure('bad_outcome', `The tool "${name}" answered with something that is not a tool outcome.`, outcome)
  } catch (error) {
    const detail = messageOf(error)
    if (isMissingMethod(error) || isMissingWorker(detail)) return unreachable(name, detail)
    if (!isOutage(error)) return failure('tool_failed', `The tool "${name}" failed.`, detail)
    const message = `The tool "${name}" broke off; whether the call took effect is unknown.`
    return failure('tool_lost', message, detail)
  }
}

const flag = v.exactOptional(v.boolean())
const count = v.exactOptional(v.number())

const marks = v.exactOptional(v.array(v.picklist(['untrusted', 'private'])))

/** What an agent in a Worker did. */
const calls = v.exactOptional(
  v.array(
    v.object({
      tool: v.string(),
      arguments: v.string(),
      outcome: v.string(),
      by: v.exactOptional(v.string()),
      times: count,
    }),
  ),
)

const deployment = v.exactOptional(v.string())

const usage = v.exactOptional(
  v.pipe(
    v.object({
      inputTokens: v.number(),
      outputTokens: v.number(),
      cachedInputTokens: count,
      cacheWriteTokens: count,
      longCacheWriteTokens: count,
      reasoningTokens: count,
      cost: count,
    }),
    v.transform(countableUsage),
  ),
)

const part = v.variant('type', [
  v.object({ type: v.literal('text'), text: v.string() }),
  v.object({ type: v.picklist(['image', 'file']), mediaType: v.string(), data: v.string() }),
])

/** The requests are checked where they are read. */
const input = v.exactOptional(v.custom<InputNeeds>(isObject))

/** The outcome of a call, as a tool answers or reports it. */
export const Outcome = v.variant('ok', [
  v.object({
    ok: v.literal(true),
    content: v.array(part),
    structured: v.exactOptional(v.unknown()),
    metadata: v.exactOptional(plainObject),
    usage,
    marks,
    calls,
    deployment,
  }),
  v.object({
    ok: v.literal(false),
    error: v.object({
      code: v.string(),
      message: v.string(),
      detail: v.exactOptional(v.string()),
      retryable: flag,
      retryAfterMs: count,
      fatal: flag,
    }),
    input,
    later: v.exactOptional(v.object({ within: v.number(), poll: count, state: v.exactOptional(v.string()) })),
    usage,
    marks,
    calls,
    deployment,
  }),
])

export const Status = either(isText, v.picklist(['done', 'absent', 'unknown']), Outcome)

/**
 * The tools of a tool Worker, and whether it described them over RPC or `fetch`; or why there is no description:
 * `reason` for callers, without any text or value of the Worker, and `detail` for operators.
 */
export type DescribeResult =
  | ({ readonly ok: true; readonly transport: 'rpc' | 'fetch' } & Pick<
      ToolDescription,
      'tools' | 'source' | 'checksOutput' | 'unavailable'
    >)
  | { readonly ok: false; readonly reason: string; readonly detail: string }

export interface DescribeOptions {
  readonly now: () => number
  readonly timeoutMs: number
  /** Whether to ask again, whatever is cached. */
  readonly refresh?: boolean
}

const SUCCESS_MS = 60_000
const FAILURE_MS = 2000

/** The cached descriptions. Values, never promises or stubs: those belong to the request that made them. */
const descriptions = new WeakMap<ToolBinding, { readonly at: number; readonly described: DescribeResult }>()

/** Reads the description of a tool Worker; caches it for a minute, and a failure for two seconds. Never rejects. */
export async function describeBinding(binding: ToolBinding, options: DescribeOptions): Promise<DescribeResult> {
  const { now, timeoutMs, refresh } = options
  const cached = descriptions.get(binding)
  if (!refresh && cached && now() - cached.at < (cached.described.ok ? SUCCESS_MS : FAILURE_MS)) return cached.described
  const answer = requestDescription(binding).catch((error: unknown) =>
    unusable('it failed to describe itself', messageOf(error)),
  )
  const described = await within(timeoutMs, answer, unusable(`no answer within ${timeoutMs} ms`))
  const current = descriptions.get(binding)
  // Another request has had an answer meanwhile.
  if (!described.ok && current !== cached && current?.described.ok) return current.described
  descriptions.set(binding, { at: now(), described })
  return described
}

function unusable(reason: string, detail = reason): DescribeResult {
  return { ok: false, reason, detail }
}

async function requestDescription(binding: ToolBinding): Promise<DescribeResult> {
  let answer: unknown
  let transport: 'rpc' | 'fetch' = 'rpc'
  try {
    answer = await (binding.describe?.() ?? missingMethod('describe'))
  } catch (error) {
    if (!isMissingMethod(error)) throw error
    answer = await askByFetch(binding, 'GET /describe')
    transport = 'fetch'
  }
  const description = readAnswer(Description, answer)
  if (typeof description === 'string') {
    const detail = `bad description: ${description}`
    // Valibot's messages end with the value that was received.
    return unusable(detail.replace(/ but received .*$/s, ''), detail)
  }
  const { contract: _, ...described } = description.value
  return { ok: true, transport, ...described }
}

const Description = v.object({
  contract: v.literal(1),
  source: v.exactOptional(v.picklist(['mcp', 'agent'])),
  checksOutput: v.exactOptional(v.boolean()),
  unavailable: v.exactOptional(v.array(v.object({ name: someText, reason: someText }))),
  tools: v.pipe(
    v.array(v.object(toolFields('worker'))),
    v.check((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'expected each name once'),
  ),
})

/**
 * The part of a service binding to a tool Worker that the host uses. Over RPC every method appears to exist until it is
 * called; a Worker that is not TypeScript answers over `fetch`.
 */
export interface ToolBinding {
  describe?(): Promise<unknown>
  call?(request: unknown, control?: unknown): Promise<unknown>
  status?(request: unknown): Promise<unknown>
  undo?(request: unknown, outcome: unknown): Promise<unknown>
  poll?(request: unknown, state: unknown): Promise<unknown>
  fetch?(url: string, init?: RequestInit): Promise<Response>
}

/**
 * Returns the JSON that a tool Worker answers to `GET /describe`, or to `POST` of `/call`, `/status` or `/undo`. Throws
 * for an answer that is not JSON, and for a status that is not 2xx.
 */
export async function askByFetch(binding: ToolBinding, operation: string, init?: RequestInit): Promise<unknown> {
  const [, path = ''] = operation.split(' ')
  const response = await binding.fetch?.(`https://tool${path}`, { ...init, redirect: 'manual' })
  if (!response?.ok) {
    await response?.body?.cancel()
    throw new Error(`${operation} was answered ${response?.status ?? 'by nobody'}`)
  }
  return parseExactly(await response.text())
}

/** Returns whether an error is the platform's for a method that the Worker does not have. */
export function isMissingMethod(error: unknown): boolean {
  return messageOf(error).includes('does not implement the method')
}

/** Returns whether the text of an error is the platform's for a Worker that does not exist. */
export function isMissingWorker(detail: string): boolean {
  return /^Worker\b.*\bnot found\b/.test(detail)
}

export function missingMethod(name: string): Promise<never> {
  return Promise.reject(new TypeError(`The binding does not implement the method "${name}".`))
}

/**
 * Reads a tool Worker's answer by a schema; returns the reason, as text, if it does not fit. Keys that this host does
 * not know are left out, since a newer Worker may send more.
 */
export function readAnswer<Schema extends v.GenericSchema>(
  schema: Schema,
  answer: unknown,
): { readonly value: v.InferOutput<Schema> } | string {
  try {
    const parsed = v.safeParse(schema, JSON.parse(JSON.stringify(answer ?? null, onlyJson)), { abortEarly: true })
    if (parsed.success) return { value: parsed.output }
    const [issue] = parsed.issues
    return `${v.getDotPath(issue) ?? 'it'}: ${issue.message}`
  } catch (error) {
    return messageOf(error)
  }
}

const JSON_KINDS = new Set(
  ['Object', 'Array', 'String', 'Boolean', 'Null', 'Undefined'].map((kind) => `[object ${kind}]`),
)

/** A JSON replacer that throws for values that are not JSON, which `JSON.stringify` would drop or change silently. */
function onlyJson(key: string, value: unknown): unknown {
  const isJson =
    typeof value === 'number' ? Number.isFinite(value) : JSON_KINDS.has(Object.prototype.toString.call(value))
  if (key === '__proto__' || !isJson) throw new TypeError(`"${key}" is not JSON`)
  return value
}
