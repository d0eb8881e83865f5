import { isObject } from '../contract/json.ts'
import { Failure } from './failure.ts'

/** The base URL of an edge, without a slash at the end, and the API key to send, if any. */
export interface EdgeAddress {
  readonly url: string
  readonly key?: string | undefined
}

export interface EdgeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  /** The body, sent as JSON. */
  readonly body?: unknown
  /** The body, sent as it is. */
  readonly bytes?: Uint8Array<ArrayBuffer>
  readonly accept?: string
}

/** Sends a request to an edge. Throws the signal's reason if it aborts, and a Failure if the edge cannot be reached. */
export async function send(
  { url, key }: EdgeAddress,
  { method, path, body, bytes, accept }: EdgeRequest,
  signal?: AbortSignal,
): Promise<Response> {
  const headers = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(accept !== undefined && { accept }),
  }
  let response: Response
  try {
    response = await fetch(url + path, {
      method,
      headers,
      // Another server must not get the key.
      redirect: 'manual',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(bytes && { body: bytes }),
      ...(signal && { signal }),
    })
  } catch (error) {
    signal?.throwIfAborted()
    const { cause } = error instanceof Error ? error : {}
    throw new Failure(`${url} does not answer: ${cause instanceof Error ? cause.message : String(error)}`)
  }
  const location = response.headers.get('location')
  if (response.status < 300 || response.status >= 400 || location === null) return response
  await response.body?.cancel()
  throw new Failure(`${url} redirects to ${new URL(location, url).origin}.`, 'Give the URL of the edge itself.')
}

/** Reads an error response: its stable code, and as the message the issues of the request, or else its detail. */
export async function problemOf(response: Response): Promise<{ readonly code: string; readonly message: string }> {
  const text = await response.text()
  const body = parse(text)
  if (!isObject(body)) return { code: '', message: `HTTP ${response.status} ${text.slice(0, 500)}`.trim() }
  const { code, detail, issues } = body
  const lines = Array.isArray(issues) ? issues.map(issueLine) : []
  const summary = typeof detail === 'string' ? detail : `HTTP ${response.status}`
  return { code: typeof code === 'string' ? code : '', message: lines.length > 0 ? lines.join('; ') : summary }
}

/** Makes the Failure for a request that an edge refuses: `what` was not done, and why. */
export async function refusal(what: string, response: Response): Promise<Failure> {
  const hint = response.status === 401 ? 'Set EDGECALL_KEY to a key of this edge.' : ''
  return new Failure(`${what}: ${(await problemOf(response)).message}`, hint)
}

function issueLine(issue: unknown): string {
  if (!isObject(issue)) return String(issue)
  const { path, message } = issue
  return path === '' ? String(message) : `${String(path)}: ${String(message)}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
