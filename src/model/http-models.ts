import { isObject } from '../contract/json.ts'
import type {
  ChatModel,
  ModelCapabilities,
  ModelError,
  ModelEvent,
  ModelProvider,
  ModelRequest,
} from '../contract/model.ts'
import type { SecretFilter, TextPieces } from '../contract/secrets.ts'
import { type Listen, listen, readText, refusedResponse } from './listen.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import { modelError } from '../wire/provider/model-error.ts'
import { UnsupportedSchema } from '../wire/provider/strict-schema.ts'
import { readSse } from '../wire/sse.ts'

interface HttpModels extends Omit<Listen, 'model' | 'openStream' | 'signal' | 'explain' | 'patience'> {
  /** The first half of the models' names. */
  readonly provider: string
  readonly capabilities: ModelCapabilities
  readonly codec: AnswerCodec
  /**
   * Asks the model with this name, the second half of its full name. Contract: rejects only if no response came; with
   * an UnsupportedSchema if no request was sent.
   */
  readonly request: (model: string, request: ModelRequest, signal: AbortSignal) => Promise<Response>
}

/** The most bytes of an answer that is not streamed. */
const MOST_WHOLE = 8 * 1024 * 1024

/** Makes the models of a provider that gets one request for each answer. */
export function httpModels({ provider, capabilities, codec, request: ask, ...options }: HttpModels): ModelProvider {
  return (model) => {
    const name = `${provider}/${model}`
    return {
      name,
      capabilities,
      stream: (request, signal) =>
        listen({
          ...options,
          model: name,
          signal,
          patience: request.patience,
          explain: unsupported,
          openStream: async (abort) => answers(await sendRequest(() => ask(model, request, abort), abort), codec),
        }),
    }
  }
}

function unsupported(error: unknown): ModelError | undefined {
  return error instanceof UnsupportedSchema
    ? modelError({ message: error.message, code: 'invalid_request' })
    : undefined
}

/** Sends a request, and once more if the server closed a kept-alive connection just as the request went out on it. */
async function sendRequest(send: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await send()
  } catch (error) {
    if (signal.aborted || !wasDropped(error)) throw error
    return send()
  }
}

const DROPPED = /UND_ERR_SOCKET|ECONNRESET|EPIPE|other side closed|connection (?:was )?(?:lost|closed|reset)/i

/** Returns whether a fetch failed because an open connection broke, by the error messages of Node and workerd. */
function wasDropped(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { message, cause } = error
  const code: unknown = isObject(cause) ? cause.code : ''
  return DROPPED.test(`${message} ${String(code)}`)
}

/** Yields the events of an answer, those of one read together. */
async function* answers(response: Response, codec: AnswerCodec): AsyncGenerator<readonly ModelEvent[], void> {
  const type = response.headers.get('content-type') ?? ''
  const decoder = codec.decoder()
  if (response.ok && /\bjson\b/i.test(type)) {
    yield decoder.push({ data: await readText(response, MOST_WHOLE) })
    yield decoder.end(true)
  } else if (response.ok && /\bevent-stream\b/i.test(type) && response.body) {
    for await (const frames of readSse(response.body)) {
      yield frames.flatMap(decoder.push)
      if (decoder.isDone) return
    }
    yield decoder.end()
  } else {
    const message = `The model server answered with "${type}", not with an event stream.`
    const { ok, status } = response
    yield [
      { type: 'error', error: ok ? modelError({ message, status }) : await refusedResponse(response, codec.explain) },
    ]
  }
}

/** A run of events whose texts belong together: one text, one reasoning, or the arguments of one call. */
interface OpenText {
  readonly of: string
  readonly pieces: TextPieces
  /** Makes the event with what was held back of the text. */
  readonly last: (text: string) => ModelEvent
}

/** Makes a model whose answers contain none of the secrets, wherever its events cut one. */
export function withoutSecrets(model: ChatModel, secrets: SecretFilter): ChatModel {
  return {
    ...model,
    stream: (request, signal, onRetry) => cleanEvents(model.stream(request, signal, onRetry), secrets),
  }
}

async function* cleanEvents(events: AsyncIterable<ModelEvent>, secrets: SecretFilter): AsyncGenerator<ModelEvent> {
  let open: OpenText | undefined
  for await (const event of events) {
    const of = event.type === 'call.delta' ? `${event.type} ${event.index}` : event.type
    if (open && open.of !== of) {
      const rest = open.pieces.rest()
      if (rest !== '') yield open.last(rest)
      open = undefined
    }
    switch (event.type) {
      case 'text':
      case 'reasoning': {
        const { type } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, text }) }
        const text = open.pieces.add(event.text)
        if (text === event.text) yield event
        else if (text !== '') yield { type, text }
        break
      }
      case 'call.delta': {
        const { type, index } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, index, arguments: text }) }
        const text = open.pieces.add(event.arguments)
        const { tool } = event
        if (text !== '' || tool !== undefined) {
          yield { ...event, arguments: text, ...(tool !== undefined && { tool: secrets.text(tool) }) }
        }
        break
      }
      case 'call':
      case 'finish':
      case 'provider.call':
      case 'error':
        yield secrets.json(event)
        break
    }
  }
  const rest = open?.pieces.rest()
  if (open && rest) yield open.last(rest)
}

type Events = AsyncIterable<ModelEvent>
type Result = IteratorResult<ModelEvent, void>

/**
 * Makes one stream of several attempts. If the first event of an attempt is an error, `next` may return another attempt
 * in its place. If it returns none, or if the first event is not an error, the stream is that attempt's to the end. Later
 * events cost nothing: they come from the attempt's own iterator. `onAnswer` is called if the first event is not an error.
 */
export function attempts(
  first: () => Events,
  next: (error: ModelError, failures: number) => Events | undefined | Promise<Events | undefined>,
  onAnswer?: () => void,
): Events {
  return {
    [Symbol.asyncIterator]: () => {
      let attempt: AsyncIterator<ModelEvent, void> | undefined
      let hasBegun = false

      async function begin(): Promise<Result> {
        let events: Events | undefined = first()
        for (let failures = 1; ; failures += 1) {
          const iterator: AsyncIterator<ModelEvent, void> = events[Symbol.asyncIterator]()
          attempt = iterator
          const result: Result = await iterator.next()
          const failed = !result.done && result.value.type === 'error' ? result.value.error : undefined
          if (!failed && !result.done) onAnswer?.()
          events = failed && (await next(failed, failures))
          if (!events) {
            hasBegun = true
            return result
          }
          await iterator.return?.()
        }
      }

      return {
        next: () => (attempt && hasBegun ? attempt.next() : begin()),
        return: async () => {
          await attempt?.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Makes a stream that has this error alone. */
export async function* failing(error: ModelError): AsyncGenerator<ModelEvent, void> {
  yield { type: 'error', error }
}
