import * as v from 'valibot'
import { canonicalJson } from '../../contract/json.ts'
import type { Tool, ToolControl, ToolDefinition, ToolOutcome, ToolRequest } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { contentPart } from '../../wire/schema.ts'
import { changed } from '../pin.ts'
import { signalOf } from '../control.ts'
import type { Described } from './describe.ts'
import { messageOf } from '../thrown.ts'
import { askByFetch, isMissingMethod, missingMethod, readAnswer, type ToolBinding } from './answer.ts'

export interface ServiceCallOptions {
  readonly binding: ToolBinding
  readonly face: 'rpc' | 'fetch'
  /** Asks the Worker anew what it offers. */
  readonly describe: () => Promise<Described>
}

/**
 * Calls a tool of a tool Worker. A tool that has changed meanwhile did not run: it is called again where its arguments
 * still mean the same, and else the model is told. Whatever the Worker throws or answers becomes an outcome.
 */
export function callService(definition: ToolDefinition, options: ServiceCallOptions): Tool['call'] {
  const { name, hash, inputSchema } = definition
  return async (request, control) => {
    const outcome = await send(request, control, options)
    if (!isMismatch(outcome)) return outcome
    const described = await options.describe()
    if (!described.ok) return unreachable(name, described.reason)
    const now = described.tools.find((tool) => tool.name === name)
    if (!now) return failure('tool_unavailable', `The tool "${name}" is not available any more.`)
    // Only of the definition that the model saw is it known what its arguments were to mean.
    if (request.hash !== hash || canonicalJson(now.inputSchema) !== canonicalJson(inputSchema)) return changed(name)
    const again = await send({ ...request, hash: now.hash }, control, options)
    return isMismatch(again) ? changed(name) : again
  }
}

function isMismatch(outcome: ToolOutcome): boolean {
  return !outcome.ok && outcome.error.code === 'schema_mismatch'
}

/** The outcome of a call that never reached its tool. */
export function unreachable(name: string, detail: string): ToolOutcome {
  return failure('tool_unreachable', `The tool "${name}" cannot be reached.`, detail)
}

async function send(request: ToolRequest, control: ToolControl, options: ServiceCallOptions): Promise<ToolOutcome> {
  const { name } = request
  try {
    const read = readAnswer(Outcome, await ask(request, control, options))
    if (typeof read !== 'string') return read.value
    return failure('bad_outcome', `The tool "${name}" answered with something that is no result.`, read)
  } catch (error) {
    const detail = messageOf(error)
    if (isMissingMethod(error) || /^Worker\b.*\bnot found\b/.test(detail)) return unreachable(name, detail)
    return failure('tool_failed', `The tool "${name}" failed.`, detail)
  }
}

function ask(request: ToolRequest, control: ToolControl, { binding, face }: ServiceCallOptions): Promise<unknown> {
  if (face === 'rpc') return binding.call?.(request, control) ?? missingMethod('call')
  return askByFetch(binding, 'POST /call', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: signalOf(control),
  })
}

const Outcome = v.variant('ok', [
  v.object({
    ok: v.literal(true),
    content: v.array(contentPart),
    structured: v.exactOptional(v.unknown()),
  }),
  v.object({
    ok: v.literal(false),
    error: v.object({
      code: v.string(),
      message: v.string(),
      detail: v.exactOptional(v.string()),
      retryable: v.exactOptional(v.boolean()),
    }),
  }),
])
