import { ALL_CAPABILITIES, type ModelProvider } from '../contract/model.ts'
import { responsesAnswers } from '../wire/provider/openai-responses/ask-answer.ts'
import { encodeResponsesRequest } from '../wire/provider/openai-responses/ask-request.ts'
import { type OpenAiOptions, serverOptions, takesCacheKey } from './openai.ts'
import { postModels } from './post-models.ts'

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
  const defers = (model: string) => deferLoading ?? (isOpenAi && SEARCHING.test(model))
  return postModels({
    ...rest,
    ...server,
    provider,
    capabilities: ALL_CAPABILITIES,
    codec: responsesAnswers,
    encode: (model, { cacheKey, ...request }, isPlain) =>
      encodeResponsesRequest(
        model,
        { ...request, ...(hasCacheKey && cacheKey !== undefined && { cacheKey }) },
        isPlain,
        !isPlain && defers(model),
      ),
    // Models without reasoning refuse a request for it; a server cannot decrypt the reasoning of another account.
    cure: (deferLoading ?? isOpenAi) ? REFUSED_FEATURES : /encrypted.content/i,
    lasts: /not supported|tool_search/i,
  })
}

const OPENAI = /\/\/(\w+\.)?api\.openai\.com\//

/** “Only gpt-5.4 and later models support tool_search”; gpt-5.4-nano refuses it all the same. */
const SEARCHING = /^gpt-(5\.[4-9]|[6-9])(?!.*nano)/

/** Matches refusals of deferred definitions or of encrypted reasoning. The request is then sent without either. */
const REFUSED_FEATURES = /encrypted.content|tool_search|namespace/i
