import { EVERYTHING, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { chatCodec } from '../wire/openai-chat/ask-answer.ts'
import { encodeRequest, hasReasoning } from '../wire/openai-chat/ask-request.ts'
import { eitherWay } from './either-way.ts'
import { httpModels } from './http-models.ts'
import type { Patience } from './listen.ts'
import { postJson } from './openai-post.ts'

export interface OpenAIOptions extends Patience {
  /** Where `/chat/completions` is found; ends in `/v1` with most servers. Default: OpenAI's own. */
  readonly baseUrl?: string | undefined
  /** Sent as a bearer token. It is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. Default `openai`. */
  readonly provider?: string | undefined
  readonly fetch?: typeof fetch | undefined
}

const CAPABILITIES: ModelCapabilities = { ...EVERYTHING, imagesInResults: false }

/** The models of any server that speaks Chat Completions: OpenAI, Ollama, vLLM, Groq, a gateway. */
export function openai(options: OpenAIOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'openai', fetch: send, ...patience } = options
  const post = postJson({ baseUrl, path: '/chat/completions', apiKey, fetch: send })
  const codec = `openai-chat/${provider}`
  /** Models known to want their reasoning back. */
  const others = new Set<string>()

  return httpModels({
    ...patience,
    provider,
    capabilities: CAPABILITIES,
    codec: chatCodec(codec),
    secret: apiKey,
    ask: (model, request, signal) =>
      eitherWay({
        model,
        others,
        send: (replayReasoning) => post(encodeRequest(model, request, { codec, replayReasoning }), signal),
        // Some servers must have the reasoning of earlier steps back, others must not.
        about: hasReasoning(request.messages) ? /reasoning_content/ : undefined,
      }),
  })
}
