import { ALL_CAPABILITIES, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { geminiAnswers } from '../wire/provider/gemini/answer.ts'
import { encodeGeminiRequest } from '../wire/provider/gemini/request.ts'
import { GEMINI_DIALECT } from '../wire/provider/dialects.ts'
import { postModels, type ServerOptions, withoutSlash } from './http-models.ts'
import { listOf } from './model-list.ts'

const GOOGLE = 'https://generativelanguage.googleapis.com/v1beta'

const CAPABILITIES: ModelCapabilities = {
  ...ALL_CAPABILITIES,
  singleCalls: false,
  streamedArguments: false,
  imageUrls: false,
  fileUrls: false,
}

/**
 * Makes the models of Google Gemini, and of any server that speaks its `streamGenerateContent`. `baseUrl` is the URL
 * before `/models`; Google's own ends in `/v1beta`.
 *
 * @example
 * const models = gemini({ apiKey: textOf(env, 'GEMINI_API_KEY') })
 * const model = models('gemini-2.5-flash')
 */
export function gemini(options: ServerOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'gemini', fetch: send = fetch } = options
  const base = withoutSlash(baseUrl || GOOGLE)
  const headers: Record<string, string> = apiKey ? { 'x-goog-api-key': apiKey } : {}
  const models = postModels({
    ...options,
    provider,
    capabilities: CAPABILITIES,
    url: (model) => `${base}/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    headers,
    codec: geminiAnswers,
    dialect: GEMINI_DIALECT,
    encode: (_, request, { isOther: isPlain }) => encodeGeminiRequest(request, isPlain),
    // Older models refuse thinking levels, files in results, and functions beside tools of their own.
    cure: /thinking|response.parts|function calling/i,
    lasts: /support/i,
  })
  return Object.assign(models, { list: listOf({ url: `${base}/models?pageSize=1000`, headers, fetch: send }) })
}
