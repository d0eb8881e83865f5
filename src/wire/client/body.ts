import * as v from 'valibot'
import { brief } from '../fields.ts'

/** A fault of a body. `path` is for example `limits.steps`, or '' for the body as a whole. */
export interface BodyFault {
  readonly path: string
  /** Says what is wrong, and names the path too. */
  readonly message: string
  /** True if the fault is that a required member is missing. */
  readonly missing: boolean
}

export interface InvalidBody {
  readonly ok: false
  readonly error: BodyFault
}

export type DecodeResult<Value> = { readonly ok: true; readonly request: Value } | InvalidBody

/** Checks a body. The check ends at the first fault, so that an invalid body costs no more than a valid one. */
export function parseBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): DecodeResult<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, body, { abortEarly: true })
  if (result.success) return { ok: true, request: result.output }
  const [issue] = result.issues
  return bodyFault(pathOf(issue), explain(issue), issue.received === 'undefined')
}

export function bodyFault(path: string, problem: string, missing = false): InvalidBody {
  return { ok: false, error: { path, message: `${path || 'The body'}: ${problem}`, missing } }
}

/** Converts the fault of a part to a fault of the body, in which the part stands at `place`. */
export function prefixFault(place: string, { error: { path, message, missing } }: InvalidBody): InvalidBody {
  return { ok: false, error: { path: place + path, message: place + message, missing } }
}

/** Returns a fault if two tools have the same name. `pathAt`: where the request has the name of a tool, by its index. */
export function duplicateName(
  tools: readonly { readonly name: string }[],
  pathAt: (index: number) => string,
): InvalidBody | undefined {
  const names = new Set<string>()
  for (const [index, { name }] of tools.entries()) {
    if (names.has(name)) return bodyFault(pathAt(index), 'is used twice.')
    names.add(name)
  }
  return undefined
}

const MOST_RECEIVED = 60

/** Explains an issue: by its message if the check is ours, else by what the schema expected. */
function explain({ kind, type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (kind === 'validation' || type === 'custom') return message
  if (expected === 'never') return 'there is no such field.'
  if (received === 'undefined') return 'is required.'
  return `expected ${expected}, received ${brief(received, MOST_RECEIVED)}.`
}

/** Returns the path of an issue, such as `messages[2].tool_call_id`. */
function pathOf(issue: v.BaseIssue<unknown>): string {
  return v.getDotPath(issue)?.replace(/\.(\d+)/g, '[$1]') ?? ''
}
