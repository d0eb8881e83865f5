import { signal } from '@preact/signals'
import { EdgecallError, sender, type SendOptions } from '../../client/request.ts'
import { money } from '../part/text.ts'

const STORED = 'edgecall-key'

/** The key of this tab. It is in the tab's session storage alone, so closing the tab forgets it. */
export const key = signal(sessionStorage.getItem(STORED) ?? '')

/** The 401 with which the edge has refused the key, or a request without one. */
export const keyRefusal = signal<EdgecallError | undefined>(undefined)

/** What the edge knows of the caller. */
export interface KnownCaller {
  readonly tenant: string
  /** The id of the key. */
  readonly key?: string
  readonly scopes: readonly string[]
  /** The currency of costs, as its ISO 4217 code. */
  readonly currency: string
}

/** The caller; undefined until the edge has answered. */
export const caller = signal<KnownCaller | undefined>(undefined)

/** Whether the connection to the edge is lost, and when it is tried again, in epoch milliseconds. */
export const outage = signal<{ readonly since: number; readonly retryAt: number } | undefined>(undefined)

/** Takes a key, or forgets it for an empty text. */
export function takeKey(text: string): void {
  if (text === '') sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, text)
  caller.value = undefined
  keyRefusal.value = undefined
  key.value = text
}

/** Asks the edge who the caller is. */
export async function loadCaller(): Promise<void> {
  caller.value = await fetchJson<KnownCaller>('/caller')
}

/** Whether the key has a scope, as far as that is known. */
export function hasScope(scope: string): boolean {
  return caller.value?.scopes.includes(scope) ?? true
}

/** The pauses between attempts to reach the edge again, in milliseconds; the last one repeats. */
const RETRY_MS = [2000, 4000, 8000, 15_000]

/** Sends a request to the edge that served this page. Throws an EdgecallError unless it succeeds. */
export async function sendRequest(path: string, options?: SendOptions): Promise<Response> {
  try {
    const response = await sender({ url: location.origin, ...(key.value !== '' && { key: key.value }) })(path, options)
    outage.value = undefined
    return response
  } catch (error) {
    if (error instanceof EdgecallError) {
      if (error.status === 401) keyRefusal.value = error
      if (error.code === 'unreachable') beginOutage()
      else outage.value = undefined
    }
    throw error
  }
}

/** Says that the edge cannot be reached, and tries again later and later until it answers. */
function beginOutage(): void {
  if (outage.peek()) return
  const since = Date.now()
  const attempt = (count: number) => {
    const pause = RETRY_MS[Math.min(count, RETRY_MS.length - 1)] ?? 0
    outage.value = { since, retryAt: Date.now() + pause }
    setTimeout(() => {
      // Another request may have found the edge again.
      if (outage.peek()) retryNow().catch(() => attempt(count + 1))
    }, pause)
  }
  attempt(0)
}

/** Tries at once whether the edge can be reached again. */
export async function retryNow(): Promise<void> {
  await fetch('/health', { cache: 'no-store', redirect: 'manual' })
  outage.value = undefined
}

/** Sends a request and returns its JSON answer. That the edge speaks its own contract is not checked again. */
export async function fetchJson<Value>(path: string, options?: SendOptions): Promise<Value> {
  const value: Value = await (await sendRequest(path, options)).json()
  return value
}

/** A cost in the currency of the edge. */
export function costText(cost: number): string {
  return money(cost, caller.value?.currency ?? 'USD')
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
