import { EVERYTHING, type ModelProvider } from '../contract/model.ts'
import { anthropicAnswers } from '../wire/anthropic/ask-answer.ts'
import { encodeRequest } from '../wire/anthropic/ask-request.ts'
import { postModels, type ServerOptions } from './post-models.ts'

export interface AnthropicOptions extends ServerOptions {
  /** The most tokens of an answer, its thinking among them, for a request that says no number. Default 16,000. */
  readonly maxTokens?: number | undefined
  /** Whether the provider's prompt cache is used. Default true. */
  readonly cache?: boolean | undefined
  /**
   * Whether the definition of a tool that a search finds loads where its result names it, so that what came before stays
   * cached. A model that cannot refuses it, and is told all at once then. Default true.
   */
  readonly deferLoading?: boolean | undefined
}

/**
 * The models of Anthropic, and of any server that speaks its Messages format. `baseUrl` is where `/v1/messages` is found,
 * with or without the `/v1`.
 */
export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  const { baseUrl, provider = 'anthropic', maxTokens = 16_000, cache = true, deferLoading = true, ...rest } = options
  const url = `${(baseUrl || 'https://api.anthropic.com').replace(/(\/v1)?\/*$/, '')}/v1/messages`
  return postModels({
    ...rest,
    provider,
    capabilities: EVERYTHING,
    url: () => url,
    headers: { 'anthropic-version': '2023-06-01', ...(rest.apiKey && { 'x-api-key': rest.apiKey }) },
    codec: anthropicAnswers,
    encode: (model, request, isPlain) => encodeRequest(request, { model, maxTokens, cache, deferLoading, isPlain }),
    cure: REFUSED,
    lasts: /support/i,
  })
}

/**
 * What servers say that load no definitions later, or know no wish that the model think, which some models refuse while a
 * call is forced: both are let go of at once.
 */
const REFUSED = /defer|tool_reference|thinking|effort/i
