/**
 * model/: ChatModel makers, each a fetch around a codec of wire/. May import contract/ and wire/. Must never know the
 * loop, or read env.
 */
import type { ModelError, ModelEvent } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { modelError, STREAM_CUT, transient } from '../wire/model-error.ts'
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

const UNREACHABLE = transient('model_unreachable', 'The model server cannot be reached.')
const TIMED_OUT = transient('model_timeout', 'The model server timed out.')

/** One request and its answer over HTTP, as `ChatModel.stream` promises it. */
export async function* exchange({
  send,
  codec,
  signal,
  secret,
  firstByteMs = 120_000,
  idleMs = 60_000,
}: Exchange): AsyncGenerator<ModelEvent, void> {
  if (signal.aborted) return
  const silence = new AbortController()
  let due = Date.now() + firstByteMs
  let timer = setTimeout(watch, Math.min(firstByteMs, idleMs))
  // One timer is moved on when it rings, not at every read.
  function watch(): void {
    const left = due - Date.now()
    if (left > 0) timer = setTimeout(watch, Math.min(left, idleMs))
    else silence.abort()
  }
  let failure = UNREACHABLE
  try {
    const response = await send(AbortSignal.any([signal, silence.signal]))
    failure = STREAM_CUT
    for await (const events of answers(response, codec)) {
      due = Date.now() + idleMs
      for (const event of events) yield event.type === 'error' && secret ? withhold(secret, event.error) : event
    }
  } catch {
    if (!signal.aborted) yield { type: 'error', error: silence.signal.aborted ? TIMED_OUT : failure }
  } finally {
    clearTimeout(timer)
    // Whatever is still open of the request is not read any more.
    silence.abort()
  }
}

function withhold(secret: string, error: ModelError): ModelEvent {
  return { type: 'error', error: { ...error, message: error.message.replaceAll(secret, '[key]') } }
}

/** What an answer says, the events of one read together. */
async function* answers(response: Response, codec: AnswerCodec): AsyncGenerator<readonly ModelEvent[], void> {
  const type = response.headers.get('content-type') ?? ''
  const decoder = codec.decoder()
  if (response.ok && /\bjson\b/i.test(type)) {
    yield decoder.push({ data: await readText(response, MOST_WHOLE) })
    yield decoder.end(true)
  } else if (response.ok && /\bevent-stream\b/i.test(type) && response.body) {
    for await (const frames of readSse(response.body)) {
      yield frames.flatMap(decoder.push)
      if (decoder.done) return
    }
    yield decoder.end()
  } else {
    const message = `The model server answered with "${type}", not with an event stream.`
    const { ok, status } = response
    yield [{ type: 'error', error: ok ? modelError({ message, status }) : await refusal(response, codec.explain) }]
  }
}
