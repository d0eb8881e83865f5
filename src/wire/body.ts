import * as v from 'valibot'

/** What is wrong with a body, and where: `limits.steps`, or '' for the whole. */
export interface BodyFault {
  readonly path: string
  /** Names the path too. */
  readonly message: string
  /** True where something that must be there is not. */
  readonly missing: boolean
}

export type Decoded<Value> =
  | { readonly ok: true; readonly request: Value }
  | { readonly ok: false; readonly error: BodyFault }

/** Checks a body. The first fault ends the check, so that a bad body costs no more than a good one. */
export function parseBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): Decoded<v.InferOutput<Schema>> {
  const parsed = v.safeParse(schema, body, { abortEarly: true })
  if (parsed.success) return { ok: true, request: parsed.output }
  const [issue] = parsed.issues
  return { ok: false, error: bodyFault(pathOf(issue), explain(issue), issue.received === 'undefined') }
}

export function bodyFault(path: string, what: string, missing = false): BodyFault {
  return { path, message: `${path === '' ? 'The body' : path}: ${what}`, missing }
}

const MOST_RECEIVED = 60

/** Checks of ours say by themselves what they want; of the schemas it is what was expected that says most. */
function explain({ kind, type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (kind === 'validation' || type === 'custom') return message
  if (expected === 'never') return 'there is no such member.'
  if (received === 'undefined') return 'this member is required.'
  const came = received.length > MOST_RECEIVED ? `${received.slice(0, MOST_RECEIVED)}…` : received
  return `expected ${expected}, received ${came}.`
}

/** Such as `messages[2].tool_call_id`. */
function pathOf(issue: v.BaseIssue<unknown>): string {
  let text = ''
  for (const { key } of issue.path ?? []) {
    if (typeof key === 'number') text += `[${key}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return text
}
