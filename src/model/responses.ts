import { EVERYTHING, type ModelProvider } from '../contract/model.ts'
import { responsesAnswers } from '../wire/openai-responses/ask-answer.ts'
import { encodeRequest } from '../wire/openai-responses/ask-request.ts'
import { eitherWay } from './either-way.ts'
import { httpModels } from './http-models.ts'
import type { OpenAIOptions } from './openai.ts'
import { postJson } from './openai-post.ts'

/**
 * The models of any server that speaks OpenAI Responses; `baseUrl` is where `/responses` is found. Nothing is stored
 * there. The first half of their names is `responses` by default.
 */
export function responses(options: OpenAIOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'responses', fetch: send, ...patience } = options
  const post = postJson({ baseUrl, path: '/responses', apiKey, fetch: send })
  /** Models known not to reason. */
  const others = new Set<string>()

  return httpModels({
    ...patience,
    provider,
    capabilities: EVERYTHING,
    codec: responsesAnswers,
    secret: apiKey,
    ask: (model, request, signal) =>
      eitherWay({
        model,
        others,
        send: (isPlain) => post(encodeRequest(model, request, isPlain), signal),
        // Models that do not reason refuse to be asked for it; reasoning from another account cannot be read.
        about: /encrypted.content/i,
        lasting: /not supported/i,
      }),
  })
}
