import { EVERYTHING, type ModelProvider } from '../contract/model.ts'
import { responsesAnswers } from '../wire/openai-responses/ask-answer.ts'
import { encodeRequest } from '../wire/openai-responses/ask-request.ts'
import { openAiServer } from './openai.ts'
import { postModels, type ServerOptions } from './post-models.ts'

export interface ResponsesOptions extends ServerOptions {
  /**
   * Whether `tool_search` is told in the format's own words, by which definitions load where a search has found them, so
   * that what came before stays cached. A model that cannot refuses it, and is told all at once then. Default: for models
   * of OpenAI's own servers whose names say that they can, `gpt-5.4` and later but nano ones. Not for others: a server
   * that takes it and passes over it would leave its model without the search, or without what it found.
   */
  readonly deferLoading?: boolean | undefined
}

/** The models of any server that speaks OpenAI Responses; `baseUrl` is where `/responses` is found. Nothing is stored there. */
export function responses(options: ResponsesOptions = {}): ModelProvider {
  const { provider = 'responses', deferLoading, ...rest } = options
  const server = openAiServer(options, '/responses')
  const isOpenAi = OPENAI.test(server.url())
  const defers = (model: string) => deferLoading ?? (isOpenAi && SEARCHING.test(model))
  return postModels({
    ...rest,
    ...server,
    provider,
    capabilities: EVERYTHING,
    codec: responsesAnswers,
    encode: (model, request, isPlain) => encodeRequest(model, request, isPlain, !isPlain && defers(model)),
    // Models that do not reason refuse to be asked for it; reasoning from another account cannot be read.
    cure: (deferLoading ?? isOpenAi) ? REFUSED : /encrypted.content/i,
    lasts: /not supported|tool_search/i,
  })
}

const OPENAI = /\/\/(\w+\.)?api\.openai\.com\//

/** “Only gpt-5.4 and later models support tool_search”; gpt-5.4-nano refuses it all the same. */
const SEARCHING = /^gpt-(5\.[4-9]|[6-9])(?!.*nano)/

/** What servers say that load no definitions later, or read no reasoning: both are let go of at once. */
const REFUSED = /encrypted.content|tool_search|namespace/i
