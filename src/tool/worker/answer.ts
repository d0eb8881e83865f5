import * as v from 'valibot'
import { messageOf } from '../thrown.ts'

/**
 * A service binding to a tool Worker, as far as the host uses it. Over RPC every method seems to be there until it is
 * called; a Worker that is not TypeScript answers over `fetch`.
 */
export interface ToolBinding {
  describe?(): Promise<unknown>
  call?(request: unknown, control?: unknown): Promise<unknown>
  status?(request: unknown): Promise<unknown>
  undo?(request: unknown, outcome: unknown): Promise<unknown>
  fetch?(url: string, init?: RequestInit): Promise<Response>
}

/** What a tool Worker answers to `GET /describe`, or `POST` to `/call`, `/status` or `/undo`. Throws where that is no JSON. */
export async function askByFetch(binding: ToolBinding, what: string, init?: RequestInit): Promise<unknown> {
  const [, path = ''] = what.split(' ')
  const response = await binding.fetch?.(`https://tool${path}`, { ...init, redirect: 'manual' })
  if (!response?.ok) {
    await response?.body?.cancel()
    throw new Error(`${what} was answered ${response?.status ?? 'by nobody'}`)
  }
  return response.json()
}

/** How the platform answers a call of a method that a Worker does not have. */
export function isMissingMethod(error: unknown): boolean {
  return messageOf(error).includes('does not implement the method')
}

export function missingMethod(name: string): Promise<never> {
  return Promise.reject(new TypeError(`The binding does not implement the method "${name}".`))
}

/**
 * What a tool Worker said, as JSON, where that fits this schema; else why not, as text. Keys that this host does not
 * know are left out: a newer Worker may have more to say.
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

/** JSON leaves out what it does not know; here that is a fault of who said it. */
function onlyJson(key: string, value: unknown): unknown {
  const isJson =
    typeof value === 'number' ? Number.isFinite(value) : JSON_KINDS.has(Object.prototype.toString.call(value))
  if (key === '__proto__' || !isJson) throw new TypeError(`"${key}" is no JSON`)
  return value
}
