import { ALL_CAPABILITIES, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { chatCodec } from '../wire/provider/openai-chat/ask-answer.ts'
import { encodeChatRequest } from '../wire/provider/openai-chat/ask-request.ts'
import { forMistral } from '../wire/provider/openai-chat/mistral.ts'
import { postModels, type ServerOptions, withoutSlash } from './post-models.ts'

const CAPABILITIES: ModelCapabilities = { ...ALL_CAPABILITIES, imagesInResults: false, fileUrls: false }

export interface OpenAiOptions extends ServerOptions {
  /**
   * Whether the server is told which requests belong together, so that they reach the same cache, if it is known to take
   * that. `off` tells none. Default `5m`.
   */
  readonly cache?: '5m' | '1h' | 'off' | undefined
}

/**
 * Makes the models of any server that speaks Chat Completions: OpenAI, Ollama, vLLM, Groq, a gateway. `baseUrl` is the
 * URL before `/chat/completions`; most end in `/v1`. Default: OpenAI’s.
 *
 * @example
 * openai({ provider: 'groq', baseUrl: 'https://api.groq.com/openai/v1', apiKey: textOf(env, 'GROQ_API_KEY') })
 */
export function openai(options: OpenAiOptions = {}): ModelProvider {
  const { provider = 'openai' } = options
  const codec = `openai-chat/${provider}`
  const server = serverOptions(options, '/chat/completions')
  const isMistral = server.url().includes('mistral')
  const hasCacheKey = takesCacheKey(server.url(), options)
  return postModels({
    ...options,
    ...server,
    provider,
    capabilities: CAPABILITIES,
    codec: chatCodec(codec),
    encode: (model, request, replayReasoning) =>
      encodeChatRequest(model, isMistral ? forMistral(request) : request, { codec, replayReasoning, hasCacheKey }),
    // Some servers require the reasoning of earlier steps, others refuse it.
    cure: /reasoning_content/,
  })
}

/** Servers that take `prompt_cache_key`; others may refuse a field that they do not know. */
const CACHE_KEYS = /\/\/([\w-]+\.)*(openai\.com|openai\.azure\.com|mistral\.ai|x\.ai)\//

/** Whether a server is sent the key of its prompt cache. */
export function takesCacheKey(url: string, { cache }: OpenAiOptions): boolean {
  return cache !== 'off' && CACHE_KEYS.test(url)
}

/** Returns the URL of a server with an OpenAI-style API, and the headers with the key as a bearer token. */
export function serverOptions({ baseUrl, apiKey }: ServerOptions, path: string) {
  const url = withoutSlash(baseUrl || 'https://api.openai.com/v1') + path
  return { url: () => url, headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {} }
}
