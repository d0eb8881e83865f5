import { isObject, type JsonObject, parseJson } from '../contract/json.ts'
import type { ModelCapabilities, ModelProvider, ModelRequest } from '../contract/model.ts'
import { fieldsOf } from '../wire/fields.ts'
import { inWords } from '../wire/provider/strict-schema.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import { httpModels } from './http-models.ts'
import { readText, type Timeouts } from './listen.ts'

export interface ServerOptions extends Timeouts {
  /** The URL of the server; the function that makes the models says up to which path. Default: the provider's own. */
  readonly baseUrl?: string | undefined
  /** The API key, which is in no message and no log. */
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
  /** Encodes the body, in one of two forms. Throws an UnsupportedSchema for a schema that this provider cannot take. */
  readonly encode: (model: string, request: ModelRequest, isOther: boolean) => string
  /** Matches a refusal that the other form may cure. */
  readonly cure: RegExp
  /** Matches a refusal that the model will always repeat. Default: `cure`. */
  readonly lasts?: RegExp
}

/**
 * Makes the models of a server that gets one POST of JSON for each answer. Some servers accept only one form of a
 * request, and do not tell before they refuse the other: a request refused for that is sent once more, in the other
 * form.
 */
export function postModels(options: PostModels): ModelProvider {
  const { url, headers, encode, cure, lasts = cure, apiKey, fetch: send = fetch, ...rest } = options
  /** The models known to need the other form. */
  const retriedModels = new Set<string>()

  return httpModels({
    ...rest,
    secret: apiKey,
    request: async (model, request, signal) => {
      const { traceparent } = request
      const trace: Record<string, string> = traceparent === undefined ? {} : { traceparent }
      const options = request.providerOptions?.[rest.provider]
      const post = (isOther: boolean, body = request) => {
        const text = encode(model, body, isOther)
        return send(url(model), {
          method: 'POST',
          // The key and the conversation go to the configured server alone.
          redirect: 'manual',
          headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers, ...trace },
          body: options ? JSON.stringify(withAdditions(fieldsOf(parseJson(text)), options)) : text,
          signal,
        })
      }
      const isOther = retriedModels.has(model)
      const response = await post(isOther)
      if (![400, 422].includes(response.status)) return response
      const text = await readText(response)
      const { responseFormat: form, ...free } = request
      if (form && form.type !== 'text' && FORM.test(text) && UNABLE.test(text)) {
        return post(isOther, { ...free, messages: [{ role: 'system', content: inWords(form) }, ...free.messages] })
      }
      if (!cure.test(text)) return new Response(text, response)
      if (lasts.test(text)) {
        if (isOther) retriedModels.delete(model)
        else retriedModels.add(model)
      }
      return post(!isOther)
    },
  })
}

/**
 * A refusal that both of these match is from a server that cannot enforce this response format, or not beside tools,
 * such as Groq and DeepSeek: the format is then described in words. The refusal of a wrong schema does not
 * match both, and stands.
 */
const FORM = /json mode|response.?(format|mime)/i
const UNABLE = /support|unavailable|combined/i

/** Adds members to an object, and to the objects in it. What it has of the same names stays as it is. */
export function withAdditions(own: JsonObject, additions: unknown): Record<string, unknown> {
  const members = Object.entries(fieldsOf(additions)).map(([name, value]) => {
    const { [name]: present = value } = own
    return [name, isObject(present) && present !== value ? withAdditions(present, value) : present]
  })
  return { ...own, ...Object.fromEntries(members) }
}

/** Returns a URL without the slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
