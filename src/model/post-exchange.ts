import type { ModelEvent, ModelRequest } from '../contract/model.ts'
import { modelError } from '../wire/model-error.ts'
import { eitherWay } from './either-way.ts'
import { type Exchange, exchange } from './exchange.ts'

export interface PostExchange extends Omit<Exchange, 'send'> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly request: ModelRequest
  /** Makes the body. What it throws says what of the request cannot be said to this provider. */
  readonly encode: (isPlain: boolean) => string
  /** Models that are known not to think as asked; it is asked of them plainly. */
  readonly plain: Set<string>
  readonly fetch?: typeof fetch | undefined
}

/**
 * An exchange of one POST of JSON. A request that cannot be encoded is refused without one; a wish that the model think
 * is let go where the server refuses it, for some models cannot, and some not while a call is forced.
 */
export async function* postExchange(options: PostExchange): AsyncGenerator<ModelEvent, void> {
  const { url, headers, request, encode, plain: others, fetch: post = fetch, ...rest } = options
  const { reasoning_effort, thinking } = request.sampling ?? {}
  const about = reasoning_effort || thinking ? /thinking|effort/i : /^\b$/
  const isPlain = others.has(rest.model)
  let body: string
  try {
    body = encode(isPlain)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    yield { type: 'error', error: modelError({ message, code: 'invalid_request' }) }
    return
  }
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  const send = (signal: AbortSignal) =>
    eitherWay({
      model: rest.model,
      others,
      about,
      lasting: /support/i,
      send: (isOther) => post(url, { ...init, signal, body: isOther === isPlain ? body : encode(isOther) }),
    })
  yield* exchange({ ...rest, send })
}
