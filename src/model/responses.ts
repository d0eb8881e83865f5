import { EVERYTHING, type ModelProvider } from '../contract/model.ts'
import { responsesAnswers } from '../wire/openai-responses/ask-answer.ts'
import { encodeRequest } from '../wire/openai-responses/ask-request.ts'
import { openAiServer } from './openai.ts'
import { postModels, type ServerOptions } from './post-models.ts'

/** The models of any server that speaks OpenAI Responses; `baseUrl` is where `/responses` is found. Nothing is stored there. */
export function responses(options: ServerOptions = {}): ModelProvider {
  const { provider = 'responses' } = options
  return postModels({
    ...options,
    provider,
    capabilities: EVERYTHING,
    ...openAiServer(options, '/responses'),
    codec: responsesAnswers,
    encode: encodeRequest,
    // Models that do not reason refuse to be asked for it; reasoning from another account cannot be read.
    cures: () => /encrypted.content/i,
    lasts: /not supported/i,
  })
}
