/**
 * model/: ChatModel makers, each a fetch around a codec of wire/. May import contract/ and wire/. Must never know the
 * loop, or read env.
 */
import { isObject } from '../contract/json.ts'
import type { ModelError, ModelEvent } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { modelError } from '../wire/model-error.ts'
import { UnsupportedSchema } from '../wire/narrow-schema.ts'
import { readSse } from '../wire/sse.ts'
import { type Listen, listen } from './listen.ts'
import { readText, refusal } from './refusal.ts'

export type { Patience } from './listen.ts'

export interface Exchange extends Omit<Listen, 'open' | 'explain'> {
  /** Sends the request. Contract: rejects only where no response came, with an UnsupportedSchema where none was asked for. */
  readonly send: (signal: AbortSignal) => Promise<Response>
  readonly codec: AnswerCodec
}

/** Bytes of an answer that comes whole. */
const MOST_WHOLE = 8 * 1024 * 1024

/** One request and its answer over HTTP, as `ChatModel.stream` promises it. */
export function exchange({ send, codec, ...options }: Exchange): AsyncGenerator<ModelEvent, void> {
  return listen({ ...options, explain: unsupported, open: async (signal) => answers(await sent(send, signal), codec) })
}

function unsupported(error: unknown): ModelError | undefined {
  return error instanceof UnsupportedSchema
    ? modelError({ message: error.message, code: 'invalid_request' })
    : undefined
}

/** A server may drop a connection that it kept just as a request goes out on it: then it is sent again, once. */
async function sent(send: Exchange['send'], signal: AbortSignal): Promise<Response> {
  try {
    return await send(signal)
  } catch (error) {
    if (signal.aborted || !wasDropped(error)) throw error
    return send(signal)
  }
}

const DROPPED = /UND_ERR_SOCKET|ECONNRESET|EPIPE|other side closed|connection (?:was )?(?:lost|closed|reset)/i

/** Whether a fetch failed because a connection that was open broke, in the words of Node and workerd. */
function wasDropped(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { message, cause } = error
  const code: unknown = isObject(cause) ? cause.code : ''
  return DROPPED.test(`${message} ${String(code)}`)
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
