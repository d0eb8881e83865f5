import { readSse } from 'edgecall/tool'
import {
  AnswerLost,
  faultOf,
  HttpFault,
  isEvents,
  MOST_BYTES,
  type Posted,
  readMessage,
  RpcFault,
  TOO_LONG,
} from './exchange.ts'
import { fieldsOf, isObject, textOf } from './json.ts'
import type { McpServer } from './servers.ts'

/** The revision of servers that answer by an event stream beside the requests (HTTP with SSE). */
export const STREAM_REVISION = '2024-11-05'
const METHOD_NOT_FOUND = -32_601
const LAST_WORD_MS = 2000

/** The ids of the two requests of a stream. */
const INITIALIZE = 1
const REQUEST = 2

type Fields = Readonly<Record<string, unknown>>

export interface StreamRequest {
  /** What the client says of itself. */
  readonly initialize: Fields
  readonly method: string
  readonly params: Fields
  /** Headers beside those of the server's configuration. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onNotice: (method: string, params: unknown) => void
}

/**
 * Sends a request to a server of the revision 2024-11-05. Its event stream names the address for messages, and brings
 * the answers. Each request opens a stream of its own, since two requests of a Worker cannot share one. Without a
 * `request` it only connects. Rejects as `post` does.
 */
export async function askOverStream(
  server: McpServer,
  request: Pick<StreamRequest, 'initialize' | 'signal'> & Partial<StreamRequest>,
): Promise<{ readonly result: Posted['result']; readonly instructions: string }> {
  const end = new AbortController()
  const signal = AbortSignal.any([request.signal, end.signal])
  const headers = { ...server.headers, ...request.headers }
  const stream = await fetch(server.url, {
    headers: { ...headers, accept: 'text/event-stream' },
    redirect: 'manual',
    signal,
  })
  if (!stream.ok || !isEvents(stream) || !stream.body) {
    await stream.body?.cancel()
    throw faultOf(stream)
  }
  let endpoint: string | undefined
  let isSent = false
  let instructions = ''
  const tell = async (message: Fields, tellSignal = signal) => {
    if (endpoint === undefined) throw new Error('its event stream names no address')
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      redirect: 'manual',
      signal: tellSignal,
    })
    await response.body?.cancel()
    if (!response.ok) throw faultOf(response)
  }
  /** Takes a message of the server. Returns the answer that ends the exchange. */
  const take = async (message: Fields): Promise<Posted['result'] | undefined> => {
    const { id, method, params, result, error } = message
    if (method !== undefined && id === undefined) request.onNotice?.(textOf(method), params)
    if (method !== undefined && id !== undefined) await tell({ id, ...answerTo(method) })
    if (method !== undefined || (id !== INITIALIZE && id !== REQUEST)) return undefined
    if (isObject(error)) throw new RpcFault(error, stream)
    if (!isObject(result)) throw new HttpFault(stream.status, 'it answered without a result')
    if (id === REQUEST) return result
    instructions = textOf(result['instructions'])
    if (request.method === undefined) return result
    await tell({ method: 'notifications/initialized' })
    isSent = true
    await tell({ id: REQUEST, method: request.method, params: request.params ?? {} })
    return undefined
  }
  try {
    let size = 0
    for await (const frames of readSse(stream.body)) {
      for (const { event, data } of frames) {
        size += data.length
        if (size > MOST_BYTES) throw new Error(TOO_LONG)
        if (event === 'endpoint' && endpoint === undefined) {
          endpoint = addressOf(data, server)
          await tell({ id: INITIALIZE, method: 'initialize', params: request.initialize })
          continue
        }
        const result = await take(fieldsOf(readMessage(data, server)))
        if (result) return { result, instructions }
      }
    }
    throw new Error('its stream ended without an answer')
  } catch (error) {
    if (request.signal.aborted && isSent) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: REQUEST } }
      await tell(cancelled, AbortSignal.timeout(LAST_WORD_MS)).catch(() => {})
    }
    if (!isSent || error instanceof HttpFault || request.signal.aborted) throw error
    throw new AnswerLost(error instanceof Error ? error.message : String(error), { cause: error })
  } finally {
    end.abort()
  }
}

/** Returns the address for messages. Credentials of the configuration must not go to another origin. */
function addressOf(text: string, { url }: McpServer): string {
  const address = URL.canParse(text, url) ? new URL(text, url) : undefined
  if (address?.origin !== new URL(url).origin) throw new Error('its event stream names an address of another origin')
  return address.href
}

function answerTo(method: unknown): object {
  if (method === 'ping') return { result: {} }
  return { error: { code: METHOD_NOT_FOUND, message: 'This client has no such method.' } }
}
