import { parseJson } from '../contract/json.ts'
import { readText } from './listen.ts'

/** The most bytes of a list of models. */
const MOST_BYTES = 2 * 1024 * 1024

/** Where a list is read from. */
interface ListOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: typeof fetch
}

/** Returns what asks a server for the list of its models. Rejects if there is none. */
export function listOf({ url, headers, fetch: send }: ListOptions): (signal: AbortSignal) => Promise<unknown> {
  return async (signal) => {
    const init = { headers: { accept: 'application/json', ...headers }, redirect: 'manual', signal } as const
    const response = await send(url, init)
    if (!response.ok) throw new Error(`The server answered ${response.status}`)
    return parseJson(await readText(response, MOST_BYTES))
  }
}
