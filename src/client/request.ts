import { EdgecallError, errorOf } from './error.ts'
import type { ClientOptions } from './types.ts'

export interface Sending {
  readonly method?: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Sends one request; throws an EdgecallError unless it succeeds, and what `signal` was aborted with. */
export type Send = (path: string, sending?: Sending) => Promise<Response>

export function sender({ url, key, headers, fetch = globalThis.fetch.bind(globalThis) }: ClientOptions): Send {
  const base = url.replace(/\/+$/, '')
  return async (path, { method, json, signal, ...sending } = {}) => {
    const init: RequestInit = {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...sending.headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(signal && { signal }),
    }
    const response = await fetch(base + path, init).catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw new EdgecallError(`The edge at ${base} was not reached.`, { code: 'unreachable', cause })
    })
    if (!response.ok) throw await errorOf(response)
    return response
  }
}
