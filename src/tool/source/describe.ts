import * as v from 'valibot'
import { TOOL_NAME } from '../../contract/id.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { plainFault } from '../plain.ts'
import { readBody } from './body.ts'
import { messageOf } from './thrown.ts'

/**
 * A service binding to a tool Worker, as far as the host uses it. Over RPC every method seems to be there until it is
 * called; a Worker that is not TypeScript answers over `fetch`.
 */
export interface ToolBinding {
  describe?(): Promise<unknown>
  call?(request: unknown, control?: unknown): Promise<unknown>
  fetch?(url: string, init?: RequestInit): Promise<Response>
}

/** What a tool Worker says of itself, and whether it said so over RPC or `fetch`; or why it said nothing of use. */
export type Described =
  | { readonly ok: true; readonly face: 'rpc' | 'fetch'; readonly tools: readonly ToolDefinition[] }
  | { readonly ok: false; readonly reason: string }

export interface DescribeOptions {
  readonly now: () => number
  readonly timeoutMs: number
  /** Asks anew, whatever is remembered. */
  readonly fresh?: boolean
}

const SUCCESS_MS = 60_000
const FAILURE_MS = 2000

/** Values, never promises or stubs: those belong to the request that made them. */
const remembered = new WeakMap<ToolBinding, { readonly at: number; readonly described: Described }>()

/** Asks a tool Worker what it offers; remembers the answer for a minute, a failure for two seconds. Never rejects. */
export async function describeBinding(binding: ToolBinding, options: DescribeOptions): Promise<Described> {
  const { now, timeoutMs, fresh = false } = options
  const known = fresh ? undefined : remembered.get(binding)
  if (known && now() - known.at < (known.described.ok ? SUCCESS_MS : FAILURE_MS)) return known.described
  const { promise: late, resolve } = Promise.withResolvers<Described>()
  const timer = setTimeout(() => resolve({ ok: false, reason: `no answer within ${timeoutMs} ms` }), timeoutMs)
  const described = await Promise.race([ask(binding), late])
  clearTimeout(timer)
  remembered.set(binding, { at: now(), described })
  return described
}

async function ask(binding: ToolBinding): Promise<Described> {
  try {
    return accept('rpc', await overRpc(binding))
  } catch (error) {
    if (!isMissingMethod(error)) return { ok: false, reason: messageOf(error) }
  }
  try {
    return await askByFetch(binding)
  } catch (error) {
    return { ok: false, reason: messageOf(error) }
  }
}

function overRpc(binding: ToolBinding): Promise<unknown> {
  if (!binding.describe) throw new TypeError('The binding does not implement the method "describe".')
  return binding.describe()
}

const MOST_BYTES = 8 * 1024 * 1024

async function askByFetch(binding: ToolBinding): Promise<Described> {
  const response = await binding.fetch?.('https://tool/describe', { redirect: 'manual' })
  if (!response?.ok) {
    await response?.body?.cancel()
    const status = response ? ` (${response.status})` : ''
    return { ok: false, reason: `answers neither describe() nor GET /describe${status}` }
  }
  const { text, whole } = await readBody(response, MOST_BYTES)
  return whole
    ? accept('fetch', JSON.parse(text))
    : { ok: false, reason: `describes itself in over ${MOST_BYTES} bytes` }
}

const Schema = v.pipe(
  v.record(v.string(), v.unknown()),
  v.check((schema) => schema['type'] === 'object', 'expected a schema of type "object"'),
)

const Definition = v.object({
  name: v.pipe(v.string(), v.regex(TOOL_NAME)),
  title: v.exactOptional(v.string()),
  description: v.pipe(v.string(), v.regex(/\S/)),
  inputSchema: Schema,
  outputSchema: v.exactOptional(v.record(v.string(), v.unknown())),
  version: v.string(),
  hash: v.pipe(v.string(), v.nonEmpty()),
  annotations: v.object({
    readOnly: v.exactOptional(v.boolean()),
    idempotent: v.exactOptional(v.boolean()),
    destructive: v.exactOptional(v.boolean()),
    openWorld: v.exactOptional(v.boolean()),
  }),
  returnDirect: v.exactOptional(v.picklist(['always', 'if-last'])),
  approval: v.exactOptional(v.picklist(['never', 'always'])),
  timeoutMs: v.exactOptional(v.pipe(v.number(), v.minValue(1))),
  maxResultBytes: v.exactOptional(v.pipe(v.number(), v.minValue(1))),
  exclusive: v.exactOptional(v.union([v.boolean(), v.string()])),
  tags: v.exactOptional(v.array(v.string())),
})

const Description = v.object({
  contract: v.literal(1),
  tools: v.pipe(
    v.array(Definition),
    v.check((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'expected each name once'),
  ),
})

const LIMITS = { depth: 64, values: 100_000 }

/** Keys that this host does not know are left out: a newer Worker may have more to say. */
function accept(face: 'rpc' | 'fetch', description: unknown): Described {
  const fault = plainFault(description, LIMITS)
  if (fault) return { ok: false, reason: `bad description: ${fault.path}: ${fault.message}` }
  const plain: unknown = JSON.parse(JSON.stringify(description))
  const parsed = v.safeParse(Description, plain, { abortEarly: true })
  if (parsed.success) return { ok: true, face, tools: parsed.output.tools }
  const [issue] = parsed.issues
  return { ok: false, reason: `bad description: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}` }
}

/** How the platform answers a call of a method that a Worker does not have. */
export function isMissingMethod(error: unknown): boolean {
  return messageOf(error).includes('does not implement the method')
}
