import * as v from 'valibot'
import { canonicalJson } from '../../contract/json.ts'
import type { Tool, ToolControl, ToolDefinition, ToolOutcome, ToolRequest } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { changed } from '../changed.ts'
import { plainFault } from '../plain.ts'
import { readBody } from './body.ts'
import { type Described, isMissingMethod, type ToolBinding } from './describe.ts'
import { messageOf } from './thrown.ts'

export interface ServiceCallOptions {
  readonly binding: ToolBinding
  readonly face: 'rpc' | 'fetch'
  /** Asks the Worker anew what it offers. */
  readonly describe: () => Promise<Described>
  /** Makes a control fit to cross RPC. */
  readonly toStub: (control: ToolControl) => unknown
}

/**
 * Calls a tool of a tool Worker. A tool that has changed meanwhile did not run: it is called again where its arguments
 * still mean the same, and else the model is told. Whatever the Worker throws or answers becomes an outcome.
 */
export function callService(definition: ToolDefinition, options: ServiceCallOptions): Tool['call'] {
  const { name } = definition
  return async (request, control) => {
    const outcome = await send(request, control, options)
    if (!isMismatch(outcome)) return outcome
    const described = await options.describe()
    if (!described.ok) return failure('tool_unreachable', `The tool "${name}" cannot be reached.`, described.reason)
    const now = described.tools.find((tool) => tool.name === name)
    if (!now) return failure('tool_unavailable', `The tool "${name}" is not available any more.`)
    // Only of the definition that the model saw is it known what its arguments were to mean.
    if (request.hash !== definition.hash || !sameInput(now, definition)) return changed(name)
    const again = await send({ ...request, hash: now.hash }, control, options)
    return isMismatch(again) ? changed(name) : again
  }
}

function isMismatch(outcome: ToolOutcome): boolean {
  return !outcome.ok && outcome.error.code === 'schema_mismatch'
}

function sameInput(a: ToolDefinition, b: ToolDefinition): boolean {
  return canonicalJson(a.inputSchema) === canonicalJson(b.inputSchema)
}

async function send(
  request: ToolRequest,
  control: ToolControl,
  { binding, face, toStub }: ServiceCallOptions,
): Promise<ToolOutcome> {
  const { name } = request
  try {
    const answer =
      face === 'rpc' ? await overRpc(binding, request, toStub(control)) : await overFetch(binding, request, control)
    return accept(name, answer)
  } catch (error) {
    const detail = messageOf(error)
    const unreached = isMissingMethod(error) || /^Worker\b.*\bnot found\b/.test(detail)
    return unreached
      ? failure('tool_unreachable', `The tool "${name}" cannot be reached.`, detail)
      : failure('tool_failed', `The tool "${name}" failed.`, detail)
  }
}

function overRpc(binding: ToolBinding, request: ToolRequest, stub: unknown): Promise<unknown> {
  if (!binding.call) throw new TypeError('The binding does not implement the method "call".')
  return binding.call(request, stub)
}

const MOST_BYTES = 32 * 1024 * 1024

async function overFetch(binding: ToolBinding, request: ToolRequest, control: ToolControl): Promise<unknown> {
  const abort = new AbortController()
  control.whenAborted().then(
    (reason) => reason !== 'settled' && abort.abort(new Error(reason)),
    () => {},
  )
  const response = await binding.fetch?.('https://tool/call', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    redirect: 'manual',
    signal: abort.signal,
  })
  if (!response?.ok) {
    await response?.body?.cancel()
    throw new Error(`POST /call was answered ${response?.status ?? 'by nobody'}`)
  }
  const { text, whole } = await readBody(response, MOST_BYTES)
  if (!whole) throw new Error(`POST /call was answered with over ${MOST_BYTES} bytes`)
  return JSON.parse(text)
}

const Content = v.variant('type', [
  v.object({ type: v.literal('text'), text: v.string() }),
  v.object({ type: v.picklist(['image', 'file']), mediaType: v.string(), data: v.string() }),
])

const Outcome = v.variant('ok', [
  v.object({ ok: v.literal(true), content: v.array(Content), structured: v.optional(v.unknown()) }),
  v.object({
    ok: v.literal(false),
    error: v.object({
      code: v.string(),
      message: v.string(),
      detail: v.optional(v.string()),
      retryable: v.optional(v.boolean()),
    }),
  }),
])

const LIMITS = { depth: 100, values: 2_000_000 }

function accept(name: string, answer: unknown): ToolOutcome {
  const fault = plainFault(answer, LIMITS)
  if (fault) return badOutcome(name, `${fault.path}: ${fault.message}`)
  const parsed = v.safeParse(Outcome, answer, { abortEarly: true })
  if (!parsed.success) return badOutcome(name, `${v.getDotPath(parsed.issues[0]) ?? 'it'}: ${parsed.issues[0].message}`)
  const outcome = parsed.output
  // What is there but undefined crosses RPC, and is no JSON.
  if (outcome.ok) {
    const { content, structured } = outcome
    return { ok: true, content, ...(structured !== undefined && { structured }) }
  }
  const { code, message, detail, retryable } = outcome.error
  const rest = { ...(detail !== undefined && { detail }), ...(retryable !== undefined && { retryable }) }
  return { ok: false, error: { code, message, ...rest } }
}

function badOutcome(name: string, detail: string): ToolOutcome {
  return failure('bad_outcome', `The tool "${name}" answered with something that is no result.`, detail)
}
