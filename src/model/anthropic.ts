import { ALL_CAPABILITIES, type ModelProvider } from '../contract/model.ts'
import { anthropicAnswers, encodeAnthropicRequest, joinAnthropic } from '../wire/provider/anthropic/codec.ts'
import { continuing } from './paused.ts'
import { postModels, type ServerOptions } from './post-models.ts'
import { listWindows } from './windows.ts'

export interface AnthropicOptions extends ServerOptions {
  /** The limit of tokens of an answer, with its thinking, if the request sets none. Default 16,000. */
  readonly maxTokens?: number | undefined
  /** How long the provider caches prompts; `off` for not at all. Default `5m`. */
  readonly cache?: '5m' | '1h' | 'off' | undefined
  /**
   * Whether the definition of a tool that a search found is loaded where the result names it, so that what precedes it
   * stays cached. A model that refuses this gets all definitions at the start. Default true.
   */
  readonly deferLoading?: boolean | undefined
}

/**
 * Makes the models of Anthropic, and of any server that speaks its Messages API (version 2023-06-01). `baseUrl` is the
 * URL before `/v1/messages`, with or without the `/v1`.
 *
 * @example
 * const models = anthropic({ apiKey: textOf(env, 'ANTHROPIC_API_KEY') })
 * const model = models('claude-opus-4-5')
 */
export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  const { baseUrl, provider = 'anthropic', maxTokens = 16_000, cache = '5m', deferLoading = true, ...rest } = options
  const base = `${(baseUrl || 'https://api.anthropic.com').replace(/(\/v1)?\/*$/, '')}/v1`
  const url = `${base}/messages`
  const headers = { 'anthropic-version': '2023-06-01', ...(rest.apiKey && { 'x-api-key': rest.apiKey }) }
  const models = postModels({
    ...rest,
    provider,
    capabilities: ALL_CAPABILITIES,
    url: () => url,
    headers,
    codec: anthropicAnswers,
    encode: (model, request, isPlain) =>
      encodeAnthropicRequest(request, { model, maxTokens, cache, deferLoading, isPlain }),
    cure: REFUSED_FEATURES,
    lasts: /support/i,
  })
  const { fetch: send = fetch } = rest
  return Object.assign(continuing(models, joinAnthropic), {
    windows: (signal: AbortSignal) => listWindows({ url: `${base}/models?limit=1000`, headers, fetch: send }, signal),
  })
}

/**
 * Matches refusals of deferred definitions, or of thinking, which some models refuse only while a call is forced. The
 * request is then sent without either.
 */
const REFUSED_FEATURES = /defer|tool_reference|thinking|effort/i
