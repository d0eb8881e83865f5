import { decodeText, readBody, readExactly } from 'edgecall/tool'
import { checkAddress, isLoopback } from '../address.ts'
import { fieldsOf } from '../json.ts'

/** An answer of an authorization server, or of a server that names one. */
export interface Answer {
  readonly status: number
  readonly fields: Readonly<Record<string, unknown>>
}

/** The most bytes of metadata or of a token response. */
const MOST_BYTES = 256 * 1024
const TIMEOUT_MS = 5000

/**
 * Checks an address that a server names. Throws an Error if it is not public; a loopback address is accepted only from a
 * server that is at one itself.
 */
export function checkEndpoint(address: unknown, serverUrl: string): string {
  if (typeof address !== 'string') throw new Error('its authorization server lacks an endpoint')
  const url = checkAddress(address, 'the address of its authorization server')
  if (isLoopback(url) && !isLoopback(serverUrl)) throw new Error(`it names ${new URL(url).host} for authorization`)
  return url
}

/** Fetches JSON from a checked address. Redirects are not followed: they could carry credentials elsewhere. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, {
    ...init,
    headers: { accept: 'application/json', ...Object.fromEntries(new Headers(init.headers)) },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const { bytes, isComplete } = await readBody(response, MOST_BYTES)
  return { status: response.status, fields: isComplete ? fieldsOf(readExactly(decodeText(bytes))) : {} }
}
