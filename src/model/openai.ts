import { EVERYTHING, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { chatCodec } from '../wire/openai-chat/ask-answer.ts'
import { encodeRequest } from '../wire/openai-chat/ask-request.ts'
import { forMistral } from '../wire/openai-chat/mistral.ts'
import { postModels, type ServerOptions, withoutSlash } from './post-models.ts'

const CAPABILITIES: ModelCapabilities = { ...EVERYTHING, imagesInResults: false }

/**
 * The models of any server that speaks Chat Completions: OpenAI, Ollama, vLLM, Groq, a gateway. `baseUrl` is where
 * `/chat/completions` is found; it ends in `/v1` with most of them.
 */
export function openai(options: ServerOptions = {}): ModelProvider {
  const { provider = 'openai' } = options
  const codec = `openai-chat/${provider}`
  const server = openAiServer(options, '/chat/completions')
  const isMistral = server.url().includes('mistral')
  return postModels({
    ...options,
    ...server,
    provider,
    capabilities: CAPABILITIES,
    codec: chatCodec(codec),
    encode: (model, request, replayReasoning) =>
      encodeRequest(model, isMistral ? forMistral(request) : request, { codec, replayReasoning }),
    // Some servers must have the reasoning of earlier steps back, others must not.
    cure: /reasoning_content/,
  })
}

/** Where a server of OpenAI's kind is, and the key as its bearer token. */
export function openAiServer({ baseUrl, apiKey }: ServerOptions, path: string) {
  const url = withoutSlash(baseUrl || 'https://api.openai.com/v1') + path
  return { url: () => url, headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {} }
}
