import type { ModelCapabilities, ModelProvider, ModelRequest } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { httpModels } from './http-models.ts'
import type { Patience } from './listen.ts'
import { readText } from './refusal.ts'

export interface ServerOptions extends Patience {
  /** Where the server is; whoever makes the models says up to where. Default: the provider's own. */
  readonly baseUrl?: string | undefined
  /** It is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. */
  readonly provider?: string | undefined
  readonly fetch?: typeof fetch | undefined
}

export interface PostModels extends Omit<ServerOptions, 'baseUrl'> {
  readonly provider: string
  readonly capabilities: ModelCapabilities
  readonly url: (model: string) => string
  readonly headers: Readonly<Record<string, string>>
  readonly codec: AnswerCodec
  /** Makes the body, in one of two ways. Throws an UnsupportedSchema for what cannot be said to this provider. */
  readonly encode: (model: string, request: ModelRequest, isOther: boolean) => string
  /** What a refusal of a request says that the other way may cure; undefined where it has no other way. */
  readonly cures: (request: ModelRequest, model: string) => RegExp | undefined
  /** What it says where it will always be so. Default: the same. */
  readonly lasts?: RegExp
}

/**
 * The models of a server that is asked by one POST of JSON. Some servers want a request said in one way and refuse the
 * other, and none says so before it does: what is refused for that is sent the other way, once.
 */
export function postModels(options: PostModels): ModelProvider {
  const { url, headers, encode, cures, lasts, apiKey, fetch: send = fetch, ...rest } = options
  /** Models known to want the other way. */
  const others = new Set<string>()

  return httpModels({
    ...rest,
    secret: apiKey,
    ask: async (model, request, signal) => {
      const post = (isOther: boolean) =>
        send(url(model), {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
          body: encode(model, request, isOther),
          signal,
        })
      const isOther = others.has(model)
      const response = await post(isOther)
      const cure = cures(request, model)
      if (!cure || ![400, 422].includes(response.status)) return response
      const text = await readText(response)
      if (!cure.test(text)) return new Response(text, response)
      if ((lasts ?? cure).test(text)) {
        if (isOther) others.delete(model)
        else others.add(model)
      }
      return post(!isOther)
    },
  })
}

/** A wish that the model think, which some models refuse, and some while a call is forced: it is let go of then. */
export function ofThinking({ sampling = {} }: ModelRequest): RegExp | undefined {
  return sampling.reasoning_effort || sampling.thinking ? /thinking|effort/i : undefined
}

/** An address without the slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
