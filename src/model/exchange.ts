/**
 * model/: ChatModel makers, each a fetch around a codec of wire/. May import contract/ and wire/. Must never know the
 * loop, or read env.
 */
import type { ModelError, ModelEvent } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { badResponse, streamCut } from '../wire/model-error.ts'
import { readSse } from '../wire/sse.ts'
import { readText, refusal } from './refusal.ts'

export interface Exchange {
  /** Sends the request. Contract: rejects only where no response came. */
  readonly send: (signal: AbortSignal) => Promise<Response>
  readonly codec: AnswerCodec
  readonly signal: AbortSignal
  /** Milliseconds until something of the answer's body must have come. Default 120,000. */
  readonly firstByteMs?: number | undefined
  /** Milliseconds between two pieces of it. Default 60,000. */
  readonly idleMs?: number | undefined
  /** The key, which no message may hold. */
  readonly secret?: string | undefined
}

/** Bytes of an answer that comes whole. */
const MOST_WHOLE = 8 * 1024 * 1024

/** One request and its answer over HTTP, as `ChatModel.stream` promises it. */
export async function* exchange({ send, codec, signal, secret, ...times }: Exchange): AsyncGenerator<ModelEvent, void> {
  if (signal.aborted) return
  const abort = new AbortController()
  const stop = () => abort.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const watch = watchdog(stop, times)
  let answered = false
  try {
    const response = await send(abort.signal)
    answered = true
    for await (const events of response.ok ? answers(response, codec, watch.fed) : refusals(response, codec)) {
      for (const event of events) {
        yield event.type === 'error' && secret ? { ...event, error: withhold(secret, event.error) } : event
      }
    }
  } catch {
    if (signal.aborted) return
    yield { type: 'error', error: watch.expired ? TIMED_OUT : answered ? streamCut() : UNREACHABLE }
  } finally {
    watch.stop()
    signal.removeEventListener('abort', stop)
    // Whatever is still open of the request is not read any more.
    stop()
  }
}

/** What an answer says, the events of one read together. */
async function* answers(
  response: Response,
  codec: AnswerCodec,
  fed: () => void,
): AsyncGenerator<readonly ModelEvent[], void> {
  const type = response.headers.get('content-type') ?? ''
  if (/\bjson\b/i.test(type)) {
    yield codec.decodeWhole(parse(await readText(response, MOST_WHOLE)))
    return
  }
  if (!/\bevent-stream\b/i.test(type) || !response.body) {
    const error = badResponse(`The model server answered with content type "${type}", not with an event stream.`)
    yield [{ type: 'error', error: { ...error, retryable: false } }]
    return
  }
  const decoder = codec.decoder()
  for await (const frames of readSse(response.body)) {
    fed()
    yield frames.flatMap((frame) => decoder.push(frame))
    if (decoder.done) return
  }
  yield decoder.end()
}

async function* refusals(response: Response, codec: AnswerCodec): AsyncGenerator<readonly ModelEvent[], void> {
  yield [{ type: 'error', error: await refusal(response, codec.explain) }]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function withhold(secret: string, error: ModelError): ModelError {
  return { ...error, message: error.message.replaceAll(secret, '[key]') }
}

const UNREACHABLE: ModelError = {
  code: 'model_unreachable',
  message: 'The model server cannot be reached.',
  retryable: true,
}

const TIMED_OUT: ModelError = {
  code: 'model_timeout',
  message: 'The model server has been silent for too long.',
  retryable: true,
}

/** Calls `expire` when nothing was fed for too long. One timer is moved on when it rings, not at every read. */
function watchdog(
  expire: () => void,
  { firstByteMs = 120_000, idleMs = 60_000 }: Pick<Exchange, 'firstByteMs' | 'idleMs'>,
): { readonly fed: () => void; readonly stop: () => void; readonly expired: boolean } {
  let last = 0
  let expired = false
  let timer = setTimeout(ring, firstByteMs)
  function ring(): void {
    const left = last === 0 ? 0 : last + idleMs - Date.now()
    if (left > 0) {
      timer = setTimeout(ring, left)
      return
    }
    expired = true
    expire()
  }
  return {
    fed: () => {
      if (last === 0) {
        clearTimeout(timer)
        timer = setTimeout(ring, idleMs)
      }
      last = Date.now()
    },
    stop: () => clearTimeout(timer),
    get expired() {
      return expired
    },
  }
}
