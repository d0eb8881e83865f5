import { ALL_CAPABILITIES, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { postModels, type ServerOptions, takeHints, withoutSlash } from './http-models.ts'
import { listOf } from './model-list.ts'
import { dialectOf } from '../wire/provider/dialects.ts'
import { chatCodec } from '../wire/provider/openai-chat/answer.ts'
import { encodeChatRequest, forMistral } from '../wire/provider/openai-chat/request.ts'
import { hasResultFiles, withResultFiles } from '../wire/provider/openai-chat/result-files.ts'
import { responsesAnswers } from '../wire/provider/openai-responses/answer.ts'
import { encodeResponsesRequest } from '../wire/provider/openai-responses/request.ts'

const CAPABILITIES: ModelCapabilities = { ...ALL_CAPABILITIES, fileUrls: false }

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
  const hints = isOfVendor(server.url()) ? HINTS : undefined
  const hasCacheKey = takesCacheKey(server.url(), options)
  const models = postModels({
    ...options,
    ...server,
    provider,
    capabilities: CAPABILITIES,
    hints,
    codec: chatCodec(codec),
    dialect: dialectOf(server.url()),
    encode: (model, { messages, ...rest }, { isOther: replayReasoning, isTextOnly }) => {
      const sampling = { ...rest.sampling, ...takeHints(rest.hints, hints) }
      const request = { ...rest, sampling, messages: isTextOnly ? messages : withResultFiles(messages) }
      // The format has no tools of the provider.
      request.providerTools?.()
      return encodeChatRequest(model, isMistral ? forMistral(request) : request, {
        codec,
        replayReasoning,
        hasCacheKey,
      })
    },
    hasFiles: ({ messages }) => hasResultFiles(messages),
    // Some servers require the reasoning of earlier steps, others refuse it.
    cure: /reasoning_content/,
  })
  return withServer(models, options)
}

/** Adds the embeddings of the server, and the list of its models, unless it is OpenAI's, which tells nothing of them. */
function withServer(models: ModelProvider, options: OpenAiOptions): ModelProvider {
  const { url, headers } = serverOptions(options, '')
  const { fetch: send = fetch } = options
  const provider: ModelProvider = (model) => ({
    ...models(model),
    embed: (body, signal) =>
      send(`${url()}/embeddings`, {
        method: 'POST',
        redirect: 'manual',
        signal,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, model }),
      }),
  })
  if (OPENAI.test(`${url()}/`)) return provider
  return Object.assign(provider, { list: listOf({ url: `${url()}/models`, headers, fetch: send }) })
}

/** Servers that take `prompt_cache_key`; others may refuse a field that they do not know. */
const CACHE_KEYS = /\/\/([\w-]+\.)*(openai\.com|openai\.azure\.com|mistral\.ai|x\.ai)\//

/** Whether a server is sent the key of its prompt cache. */
function takesCacheKey(url: string, { cache }: OpenAiOptions): boolean {
  return cache !== 'off' && CACHE_KEYS.test(url)
}

/** Returns the URL of a server with an OpenAI-style API, and the headers with the key as a bearer token. */
function serverOptions({ baseUrl, apiKey }: ServerOptions, path: string) {
  const url = withoutSlash(baseUrl || 'https://api.openai.com/v1') + path
  const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {}
  return { url: () => url, headers }
}

export interface ResponsesOptions extends OpenAiOptions {
  /**
   * Whether `tool_search` is sent as the format's own item, which loads a definition only where a search has found it,
   * so that what precedes it stays cached. A model that refuses this gets all definitions at the start. Default: true
   * for models on OpenAI's own servers whose names show that they support it, `gpt-5.4` and later except nano. False
   * for others: a server that accepts the item but ignores it would leave its model without the search, or without the
   * tools found.
   */
  readonly deferLoading?: boolean | undefined
}

/**
 * Makes the models of any OpenAI Responses server, with `store: false`. `baseUrl` is the URL before `/responses`.
 *
 * @example
 * const models = responses({ apiKey: textOf(env, 'OPENAI_API_KEY') })
 * const model = models('gpt-5.2')
 */
export function responses(options: ResponsesOptions = {}): ModelProvider {
  const { provider = 'responses', deferLoading, ...rest } = options
  const server = serverOptions(options, '/responses')
  const hasCacheKey = takesCacheKey(server.url(), options)
  const isOpenAi = OPENAI.test(server.url())
  const hints = isOfVendor(server.url()) ? RESPONSES_HINTS : undefined
  const defers = (model: string) => deferLoading ?? (isOpenAi && SEARCHING.test(model))
  const dialect = dialectOf(server.url())
  const models = postModels({
    ...rest,
    ...server,
    provider,
    capabilities: ALL_CAPABILITIES,
    hints,
    codec: responsesAnswers,
    dialect,
    hasKinds: ({ tools }) => dialect.toolKinds === true && tools.some(({ forms }) => forms?.responses),
    encode: (model, { cacheKey, ...request }, { isOther: isPlain, hasOnlyFunctions }) => {
      const sampling = { ...request.sampling, ...takeHints(request.hints, hints) }
      return encodeResponsesRequest(
        model,
        { ...request, sampling, ...(hasCacheKey && cacheKey !== undefined && { cacheKey }) },
        {
          isPlain,
          defersLoading: !isPlain && defers(model),
          hasKinds: dialect.toolKinds === true && !hasOnlyFunctions,
        },
      )
    },
    // Models without reasoning refuse a request for it; a server cannot decrypt the reasoning of another account.
    cure: (deferLoading ?? isOpenAi) ? REFUSED_FEATURES : /encrypted.content/i,
    lasts: /not supported|tool_search/i,
  })
  return withServer(models, options)
}

const OPENAI = /\/\/(\w+\.)?api\.openai\.com\//

/** Whether a server is OpenAI's, or Azure's with OpenAI's models: others may refuse a member that they do not know. */
function isOfVendor(url: string): boolean {
  return OPENAI.test(url) || /\/\/[\w-]+\.openai\.azure\.com\//.test(url)
}

const CACHE_HINTS = ['openai.prompt_cache_key', 'openai.prompt_cache_options', 'openai.prompt_cache_retention']
const SENDER_HINTS = ['openai.safety_identifier', 'openai.user']
const HINTS = [...CACHE_HINTS, ...SENDER_HINTS, 'openai.prediction']
const RESPONSES_HINTS = [...CACHE_HINTS, ...SENDER_HINTS, 'openai.reasoning.summary', 'openai.reasoning.context']

/** “Only gpt-5.4 and later models support tool_search”; gpt-5.4-nano refuses it all the same. */
const SEARCHING = /^gpt-(5\.[4-9]|[6-9])(?!.*nano)/

/** Matches refusals of deferred definitions or of encrypted reasoning. The request is then sent without either. */
const REFUSED_FEATURES = /encrypted.content|tool_search|namespace/i
