import type { ModelCapabilities, ModelProvider, ModelRequest } from '../contract/model.ts'
import { inWords } from '../wire/form-in-words.ts'
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
  /** What a refusal of a request says that the other way may cure. */
  readonly cure: RegExp
  /** What it says where it will always be so. Default: the same. */
  readonly lasts?: RegExp
}

/**
 * The models of a server that is asked by one POST of JSON. Some servers want a request said in one way and refuse the
 * other, and none says so before it does: what is refused for that is sent the other way, once.
 */
export function postModels(options: PostModels): ModelProvider {
  const { url, headers, encode, cure, lasts = cure, apiKey, fetch: send = fetch, ...rest } = options
  /** Models known to want the other way. */
  const others = new Set<string>()

  return httpModels({
    ...rest,
    secret: apiKey,
    ask: async (model, request, signal) => {
      const post = (isOther: boolean, said = request) =>
        send(url(model), {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
          body: encode(model, said, isOther),
          signal,
        })
      const isOther = others.has(model)
      const response = await post(isOther)
      if (![400, 422].includes(response.status)) return response
      const text = await readText(response)
      const { responseFormat: form, ...free } = request
      if (form && form.type !== 'text' && FORM.test(text) && UNABLE.test(text)) {
        return post(isOther, { ...free, messages: [{ role: 'system', content: inWords(form) }, ...free.messages] })
      }
      if (!cure.test(text)) return new Response(text, response)
      if (lasts.test(text)) {
        if (isOther) others.delete(model)
        else others.add(model)
      }
      return post(!isOther)
    },
  })
}

/**
 * What servers say that hold an answer to no form of that kind, or not beside tools, such as Groq, DeepSeek and Gemini 2:
 * then the form is told in words. A schema that is wrong is refused in other words, and stays so.
 */
const FORM = /json mode|response.?(format|mime)/i
const UNABLE = /support|unavailable|combined/i

/** An address without the slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
