import { EVERYTHING, type ModelProvider } from '../contract/model.ts'
import { anthropicAnswers } from '../wire/anthropic/ask-answer.ts'
import { encodeRequest } from '../wire/anthropic/ask-request.ts'
import type { Patience } from './exchange.ts'
import { postExchange } from './post-exchange.ts'

export interface AnthropicOptions extends Patience {
  /** Where `/v1/messages` is found, with or without the `/v1`. Default: Anthropic's own. */
  readonly baseUrl?: string | undefined
  /** Sent as `x-api-key`. It is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. Default `anthropic`. */
  readonly provider?: string | undefined
  /** The most tokens of an answer, its thinking among them, for a request that says no number. Default 16,000. */
  readonly maxTokens?: number | undefined
  /** Whether the provider's prompt cache is used. Default true. */
  readonly cache?: boolean | undefined
  readonly fetch?: typeof fetch | undefined
}

/** The models of Anthropic, and of any server that speaks its Messages format. */
export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'anthropic', maxTokens = 16_000, cache = true, ...rest } = options
  const url = `${(baseUrl || 'https://api.anthropic.com').replace(/(\/v1)?\/*$/, '')}/v1/messages`
  const headers = {
    accept: 'text/event-stream',
    'anthropic-version': '2023-06-01',
    ...(apiKey && { 'x-api-key': apiKey }),
  }
  /** Models known not to think as asked. */
  const plain = new Set<string>()
  return (model) => {
    const name = `${provider}/${model}`
    return {
      name,
      capabilities: EVERYTHING,
      stream: (request, signal) =>
        postExchange({
          ...rest,
          model: name,
          url,
          headers,
          request,
          encode: (isPlain) => encodeRequest(request, { model, maxTokens, cache, isPlain }),
          plain,
          codec: anthropicAnswers,
          signal,
          secret: apiKey,
        }),
    }
  }
}
