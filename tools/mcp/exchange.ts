import { pause, readSse, type SseResume } from '../../src/tool.ts'
import { fieldsOf, isObject, parseJson, textOf } from './json.ts'

/** A server's answer that is no result. */
export class HttpFault extends Error {
  readonly status: number

  constructor(status: number, message = `it answered HTTP ${status}`) {
    super(message)
    this.status = status
  }
}

/** An error of the protocol, as the server told it. */
export class RpcFault extends HttpFault {
  readonly code: number
  readonly data: unknown
  /** What it says, for a model. */
  readonly said: string

  constructor({ code, data, message }: Readonly<Record<string, unknown>>, status: number) {
    super(status, `it answered ${String(code)} ${textOf(message)}`)
    this.code = Number(code)
    this.data = data
    this.said = textOf(message)
  }
}

/** A server took a message, and what it answered did not arrive. */
export class AnswerLost extends Error {}

type Message = Readonly<Record<string, unknown>>

export interface Posting {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly message: Message
  readonly signal: AbortSignal
  /** Hears what the server says besides the answer. */
  readonly onMessage?: (message: Message) => void
  /** Whether the message is a request. Default true. */
  readonly isAsked?: boolean
  /** Whether a stream that breaks off may be taken up again. Default false. */
  readonly resumes?: boolean
}

/** What came of a message: the result of a request. */
export interface Posted {
  readonly result: Message
  /** As the server named it, where it did. */
  readonly session: string | null
}

/**
 * Sends one message. Rejects with an RpcFault where the server answers with an error, with an HttpFault where it answers
 * with something else, with an AnswerLost where its answer ends before its end, and with what `fetch` rejects with. No
 * redirect is followed.
 */
export async function post(posting: Posting): Promise<Posted> {
  const response = await send(posting, 'POST', { 'content-type': 'application/json' })
  const { status } = response
  const session = response.headers.get('mcp-session-id')
  if (posting.isAsked === false) {
    await response.body?.cancel()
    if (!response.ok) throw new HttpFault(status)
    return { result: {}, session }
  }
  const answer = await hear(response, posting)
  if (isObject(answer['error'])) throw new RpcFault(answer['error'], status)
  if (!response.ok || !isObject(answer['result'])) throw new HttpFault(status)
  return { result: answer['result'], session }
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

async function hear(response: Response, posting: Posting): Promise<Message> {
  try {
    if (isEvents(response)) return await follow(response, posting)
    return fieldsOf(read(await readText(response), posting))
  } catch (error) {
    if (!response.ok || posting.signal.aborted) throw error
    // Whatever else it says of the session: the message was taken, and is not to be sent again.
    throw new AnswerLost(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** The answer of a stream. A server of an older revision may let go of it in the middle, and wait to be asked for the rest. */
async function follow(response: Response, posting: Posting): Promise<Message> {
  const { message, signal, resumes = false, onMessage = () => {} } = posting
  const resume: SseResume = {}
  for (let stream = response; ;) {
    let size = 0
    for await (const events of stream.body ? readSse(stream.body, resume) : []) {
      for (const { data } of events) {
        size += data.length
        if (size > MOST_BYTES) throw new Error(TOO_LONG)
        const said = fieldsOf(data === '' ? undefined : read(data, posting))
        if (said['method'] !== undefined) onMessage(said)
        else if (said['id'] === message['id']) return said
      }
    }
    if (!resume.lastId || !resumes) throw new Error('its stream ended without an answer')
    await pause(resume.retryMs ?? RETRY_MS, signal)
    stream = await send(posting, 'GET', { 'last-event-id': resume.lastId })
    if (!stream.ok || !isEvents(stream)) throw new HttpFault(stream.status)
  }
}

const RETRY_MS = 1000
/** What is longer, all events of a stream together, is no answer but an attack or a fault. */
const MOST_BYTES = 8 * 1024 * 1024
const TOO_LONG = `its answer is over ${MOST_BYTES} bytes`

function isEvents(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > MOST_BYTES) throw new Error(TOO_LONG)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** A call's result is data, to be passed on as it is; of the rest no large number matters but as the bound of a schema. */
function read(text: string, { message }: Posting): unknown {
  return parseJson(text, message['method'] === 'tools/call')
}
