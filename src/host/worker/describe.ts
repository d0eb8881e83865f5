import * as v from 'valibot'
import { TOOL_NAME } from '../../contract/id.ts'
import { depthOf } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { count, either, isText, plainObject, someText } from '../../wire/schema.ts'
import { ANNOTATIONS, APPROVAL } from '../../wire/policy.ts'
import { messageOf } from '../../contract/thrown.ts'
import { askByFetch, isMissingMethod, missingMethod, readAnswer, type ToolBinding } from './answer.ts'

/**
 * The tools of a tool Worker, and whether it described them over RPC or `fetch`; or why there is no description:
 * `reason` for callers, without any text or value of the Worker, and `detail` for operators.
 */
export type DescribeResult =
  | { readonly ok: true; readonly transport: 'rpc' | 'fetch'; readonly tools: readonly ToolDefinition[] }
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

/** Asks a tool Worker for its description; caches an answer for a minute, a failure for two seconds. Never rejects. */
export async function describeBinding(binding: ToolBinding, options: DescribeOptions): Promise<DescribeResult> {
  const { now, timeoutMs, refresh = false } = options
  const cached = refresh ? undefined : descriptions.get(binding)
  if (cached && now() - cached.at < (cached.described.ok ? SUCCESS_MS : FAILURE_MS)) return cached.described
  const { promise: timeout, resolve } = Promise.withResolvers<DescribeResult>()
  const timer = setTimeout(() => resolve(unusable(`no answer within ${timeoutMs} ms`)), timeoutMs)
  const answer = requestDescription(binding).catch((error: unknown) =>
    unusable('it failed to describe itself', messageOf(error)),
  )
  const described = await Promise.race([answer, timeout])
  clearTimeout(timer)
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
  return { ok: true, transport, tools: description.value.tools }
}

const flag = v.exactOptional(v.boolean())

const MOST_CHARACTERS = 500_000
const MOST_LEVELS = 64

/** Bounds a schema: code that walks a deeper one could overflow the stack, and models read all of a schema. */
function isBounded(schema: Record<string, unknown>): boolean {
  const text = JSON.stringify(schema)
  return text.length <= MOST_CHARACTERS && depthOf(text) <= MOST_LEVELS
}

const schema = v.pipe(
  plainObject,
  v.check(isBounded, `expected at most ${MOST_LEVELS} levels and ${MOST_CHARACTERS} characters of JSON`),
)

const Definition = v.object({
  name: v.pipe(v.string(), v.regex(TOOL_NAME)),
  title: v.exactOptional(v.string()),
  description: v.pipe(v.string(), v.regex(/\S/)),
  inputSchema: v.pipe(
    schema,
    v.check((schema) => schema['type'] === 'object', 'expected a schema of type "object"'),
  ),
  outputSchema: v.exactOptional(schema),
  version: v.string(),
  hash: someText,
  annotations: v.object(ANNOTATIONS),
  returnDirect: v.exactOptional(v.picklist(['always', 'if-last'])),
  approval: v.exactOptional(APPROVAL),
  timeoutMs: count,
  maxResultBytes: count,
  exclusive: v.exactOptional(either(isText, v.string(), v.boolean())),
  maxConcurrent: count,
  reconcile: flag,
  undo: flag,
  history: flag,
  callsTools: flag,
  strict: flag,
  tags: v.exactOptional(v.array(v.string())),
  metadata: v.exactOptional(plainObject),
})

const Description = v.object({
  contract: v.literal(1),
  tools: v.pipe(
    v.array(Definition),
    v.check((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'expected each name once'),
  ),
})
