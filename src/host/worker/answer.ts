import * as v from 'valibot'
import { messageOf } from '../../contract/thrown.ts'

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
  return response.json()
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
