import { EVERYTHING, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { geminiAnswers } from '../wire/gemini/ask-answer.ts'
import { encodeRequest } from '../wire/gemini/ask-request.ts'
import type { Patience } from './exchange.ts'
import { postExchange } from './post-exchange.ts'

export interface GeminiOptions extends Patience {
  /** Where `/models` is found; ends in `/v1beta` with Google's own, which is the default. */
  readonly baseUrl?: string | undefined
  /** Sent as `x-goog-api-key`. It is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. Default `gemini`. */
  readonly provider?: string | undefined
  readonly fetch?: typeof fetch | undefined
}

const GOOGLE = 'https://generativelanguage.googleapis.com/v1beta'

const CAPABILITIES: ModelCapabilities = { ...EVERYTHING, singleCalls: false, streamedArguments: false }

/** The models of Google Gemini, and of any server that speaks its `generateContent`. */
export function gemini(options: GeminiOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'gemini', ...rest } = options
  const base = (baseUrl || GOOGLE).replace(/\/+$/, '')
  const headers = { accept: 'text/event-stream', ...(apiKey && { 'x-goog-api-key': apiKey }) }
  /** Models known not to think as asked. */
  const plain = new Set<string>()
  return (model) => {
    const name = `${provider}/${model}`
    return {
      name,
      capabilities: CAPABILITIES,
      stream: (request, signal) =>
        postExchange({
          ...rest,
          model: name,
          url: `${base}/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
          headers,
          request,
          encode: (isPlain) => encodeRequest(request, isPlain),
          plain,
          codec: geminiAnswers,
          signal,
          secret: apiKey,
        }),
    }
  }
}
