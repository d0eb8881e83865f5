import { isObject } from '../contract/json.ts'
import { EdgecallError, errorFromResponse } from './error.ts'
import type { ClientOptions } from './types.ts'

export interface SendOptions {
  readonly method?: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Sends one request. Throws an EdgecallError unless it succeeds, and the signal's reason if that aborts. */
export type Send = (path: string, options?: SendOptions) => Promise<Response>

export function sender({ url, key, headers, fetch = globalThis.fetch.bind(globalThis) }: ClientOptions): Send {
  const base = url.replace(/\/+$/, '')
  return async (path, { method, json, signal, ...options } = {}) => {
    const init: RequestInit = {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...options.headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      // Another server must not get the key.
      redirect: 'manual',
      ...(signal && { signal }),
    }
    const response = await fetch(base + path, init).catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw new EdgecallError(`The edge at ${base} could not be reached.`, { code: 'unreachable', cause })
    })
    const { ok, status } = response
    // A browser shows a redirect that it did not follow as status 0.
    if (!ok && status < 400) {
      await response.body?.cancel()
      throw new EdgecallError(`${base} redirects; give the URL of the edge itself.`, { code: 'redirected', status })
    }
    if (!ok) throw await errorFromResponse(response)
    return response
  }
}

/** Tells whether a value has the shape of a run or a conversation. */
export function hasId(value: unknown): boolean {
  return isObject(value) && typeof value['id'] === 'string'
}

/**
 * Sends one request and parses its JSON answer, of which only `isOfShape` is checked. Throws as `send` does, and an
 * EdgecallError for an answer that is incomplete or has another shape.
 */
export async function requestJson<Value>(
  send: Send,
  path: string,
  isOfShape: (value: unknown) => boolean,
  options: SendOptions = {},
): Promise<Value> {
  const response = await send(path, options)
  try {
    const value: Value = await response.json()
    if (isOfShape(value)) return value
    throw new TypeError('The response did not come from an edge.')
  } catch (cause) {
    options.signal?.throwIfAborted()
    const { status } = response
    throw new EdgecallError('The response is not a valid answer of an edge.', { code: 'bad_answer', status, cause })
  }
}
