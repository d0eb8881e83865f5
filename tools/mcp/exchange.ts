import {
  decodeText,
  pause,
  readBody,
  readExactly,
  readSse,
  retryAfterMs,
  type SecretFilter,
  type SseResume,
} from 'edgecall/tool'
import { fieldsOf, isObject, textOf } from './json.ts'

/** A server's HTTP response that holds no result. */
export class HttpFault extends Error {
  readonly status: number
  /** The `WWW-Authenticate` header of the response. */
  readonly challenge: string | null
  /** How long the server asks its client to wait (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, message = `it answered HTTP ${status}`, headers = new Headers()) {
    super(message)
    this.status = status
    this.challenge = headers.get('www-authenticate')
    this.retryAfterMs = retryAfterMs((name) => headers.get(name))
  }
}

/** A JSON-RPC error that the server answered. */
export class RpcFault extends HttpFault {
  readonly code: number
  readonly data: unknown
  /** The server's message, which a model may read. */
  readonly serverMessage: string

  constructor({ code, data, message }: Readonly<Record<string, unknown>>, { status, headers }: Response) {
    super(status, `it answered ${String(code)} ${textOf(message)}`, headers)
    this.code = Number(code)
    this.data = data
    this.serverMessage = textOf(message)
  }
}

/** The server accepted a message, but its answer did not arrive. */
export class AnswerLost extends Error {}

type Message = Readonly<Record<string, unknown>>

export interface Posting {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly message: Message
  readonly signal: AbortSignal
  /** Receives the requests and notifications that the server sends before its answer. */
  readonly onMessage?: (message: Message) => void
  /** Whether the message is a request, which has an answer, or else a notification or a response. Default true. */
  readonly isRequest?: boolean
  /** Removes secrets from what the server sends. Default: there are none. */
  readonly secrets?: SecretFilter | undefined
  /** Whether an interrupted stream may be resumed. Default false. */
  readonly resumes?: boolean
}

/** The result of a request; empty for any other message. */
export interface Posted {
  readonly result: Message
  /** The session id of the response, if it has one. */
  readonly session: string | null
}

/**
 * Sends one message. Rejects with an RpcFault if the server answers with a JSON-RPC error, with an HttpFault if it
 * answers with anything but a result, with an AnswerLost if the answer is incomplete, and as `fetch` does. Redirects
 * are not followed.
 */
export async function post(posting: Posting): Promise<Posted> {
  // An answer may come before its stream ends, which only an abort closes.
  const end = new AbortController()
  try {
    return await exchange({ ...posting, signal: AbortSignal.any([posting.signal, end.signal]) })
  } finally {
    end.abort()
  }
}

async function exchange(posting: Posting): Promise<Posted> {
  const response = await send(posting, 'POST', { 'content-type': 'application/json' })
  const session = response.headers.get('mcp-session-id')
  if (posting.isRequest === false) {
    await response.body?.cancel()
    if (!response.ok) throw faultOf(response)
    return { result: {}, session }
  }
  const answer = await readAnswer(response, posting)
  if (isObject(answer['error'])) throw new RpcFault(answer['error'], response)
  if (!response.ok || !isObject(answer['result'])) throw faultOf(response)
  return { result: answer['result'], session }
}

export function faultOf({ status, headers }: Response): HttpFault {
  return new HttpFault(status, undefined, headers)
}

function send(
  { url, headers, message, signal }: Posting,
  method: 'GET' | 'POST',
  more: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(url, {
    method,
    headers: { ...headers, accept: 'application/json, text/event-stream', ...more },
    ...(method === 'POST' && { body: JSON.stringify(message) }),
    redirect: 'manual',
    signal,
  })
}

async function readAnswer(response: Response, posting: Posting): Promise<Message> {
  try {
    if (isEvents(response)) return await follow(response, posting)
    return fieldsOf(readMessage(await readText(response), posting))
  } catch (error) {
    if (!response.ok || posting.signal.aborted) throw error
    // The server has accepted the message, so it must not be sent again, even if the error here is that of an ended
    // session, which `ask` would answer by sending it again.
    throw new AnswerLost(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/**
 * Reads the answer from an event stream. A server of an older revision may close the stream before the answer and
 * expect the client to resume it.
 */
async function follow(response: Response, posting: Posting): Promise<Message> {
  const { message, signal, resumes = false, onMessage = () => {} } = posting
  const resume: SseResume = {}
  let size = 0
  for (let stream = response; ;) {
    for await (const events of stream.body ? readSse(stream.body, resume) : []) {
      for (const { data } of events) {
        size += data.length
        if (size > MOST_BYTES) throw new Error(TOO_LONG)
        const reply = fieldsOf(data === '' ? undefined : readMessage(data, posting))
        if (reply['method'] !== undefined) onMessage(reply)
        else if (reply['id'] === message['id']) return reply
      }
    }
    if (!resume.lastId || !resumes) throw new Error('its stream ended without an answer')
    await pause(resume.retryMs ?? RETRY_MS, signal)
    stream = await send(posting, 'GET', { 'last-event-id': resume.lastId })
    if (!stream.ok || !isEvents(stream)) throw new HttpFault(stream.status)
  }
}

/**
 * Reads the stream that a server has beside its answers, until it ends or the signal aborts. Calls `onOpen` when the
 * server has opened it or refused to.
 */
export async function readStream({
  onMessage = () => {},
  onOpen,
  ...rest
}: Omit<Posting, 'message' | 'resumes' | 'isRequest'> & { readonly onOpen: () => void }): Promise<void> {
  const posting = { ...rest, message: {} }
  const stream = await send(posting, 'GET', {}).finally(onOpen)
  if (!stream.ok || !isEvents(stream) || !stream.body) return stream.body?.cancel()
  let size = 0
  for await (const events of readSse(stream.body)) {
    for (const { data } of events) {
      size += data.length
      if (size > MOST_BYTES) return
      onMessage(fieldsOf(readMessage(data, posting)))
    }
  }
}

const RETRY_MS = 1000
/** The largest answer, all events of a stream together; a larger one can only be an attack or a fault. */
export const MOST_BYTES = 8 * 1024 * 1024
export const TOO_LONG = `its answer is over ${MOST_BYTES} bytes`

export function isEvents(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
}

async function readText(response: Response): Promise<string> {
  const { bytes, isComplete } = await readBody(response, MOST_BYTES)
  if (!isComplete) throw new Error(TOO_LONG)
  return decodeText(bytes)
}

/** Parses a message. A number that JavaScript cannot hold is a string of its digits, as in all JSON from outside. */
export function readMessage(text: string, { secrets }: Pick<Posting, 'secrets'>): unknown {
  const value = readExactly(text)
  return secrets ? secrets.json(value) : value
}
