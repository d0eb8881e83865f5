import * as v from 'valibot'
import type { ToolDescription } from '../../contract/tool.ts'
import { someText } from '../../wire/schema.ts'
import { toolFields } from '../../wire/tool-fields.ts'
import { messageOf } from '../../contract/thrown.ts'
import { within } from '../../contract/time-limit.ts'
import { askByFetch, isMissingMethod, missingMethod, readAnswer, type ToolBinding } from './answer.ts'

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
  const { now, timeoutMs, refresh = false } = options
  const cached = refresh ? undefined : descriptions.get(binding)
  if (cached && now() - cached.at < (cached.described.ok ? SUCCESS_MS : FAILURE_MS)) return cached.described
  const answer = requestDescription(binding).catch((error: unknown) =>
    unusable('it failed to describe itself', messageOf(error)),
  )
  const described = await within(timeoutMs, answer, unusable(`no answer within ${timeoutMs} ms`))
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
