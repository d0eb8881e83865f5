import { signal } from '@preact/signals'
import { EdgecallError, sender, type SendOptions } from '../../client/request.ts'

const STORED = 'edgecall-key'

/** The key of this tab. It is in the tab's session storage alone, so closing the tab forgets it. */
export const key = signal(sessionStorage.getItem(STORED) ?? '')

/** Whether the edge has refused a request for want of a valid key. */
export const needsKey = signal(false)

/** Takes a key, or forgets it for an empty text. */
export function takeKey(text: string): void {
  if (text === '') sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, text)
  key.value = text
  needsKey.value = false
}

/** Sends a request to the edge that served this page. Throws an EdgecallError unless it succeeds. */
export async function sendRequest(path: string, options?: SendOptions): Promise<Response> {
  try {
    return await sender({ url: location.origin, ...(key.value !== '' && { key: key.value }) })(path, options)
  } catch (error) {
    if (error instanceof EdgecallError && error.status === 401) needsKey.value = true
    throw error
  }
}

/** Sends a request and returns its JSON answer. That the edge speaks its own contract is not checked again. */
export async function fetchJson<Value>(path: string, options?: SendOptions): Promise<Value> {
  const value: Value = await (await sendRequest(path, options)).json()
  return value
}

/** A part of a path that may hold any text. */
export function part(text: string): string {
  return encodeURIComponent(text)
}

/** What a person is told of an error. */
export function errorParts(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof EdgecallError) return { code: error.code, message: error.message }
  return { code: 'studio', message: error instanceof Error ? error.message : String(error) }
}
