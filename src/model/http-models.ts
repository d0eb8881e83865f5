import { isObject } from '../contract/json.ts'
import type { ModelCapabilities, ModelError, ModelEvent, ModelProvider, ModelRequest } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import { modelError } from '../wire/provider/model-error.ts'
import { UnsupportedSchema } from '../wire/provider/narrow-schema.ts'
import { readSse } from '../wire/sse.ts'
import { type Listen, listen } from './listen.ts'
import { readText, refusedResponse } from './refusal.ts'

export interface HttpModels extends Omit<Listen, 'model' | 'openStream' | 'signal' | 'explain' | 'patience'> {
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
