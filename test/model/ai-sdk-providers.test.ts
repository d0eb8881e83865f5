import { createOpenAICompatible as compatible2 } from 'ai-sdk-compatible-v2'
import { createOpenAICompatible as compatible4 } from '@ai-sdk/openai-compatible'
import { createOpenAI as openai2 } from 'ai-sdk-openai-v2'
import { createOpenAI as openai3 } from 'ai-sdk-openai-v3'
import { createOpenAI as openai4 } from '@ai-sdk/openai'
import { type AiSdkModel, fromAiSdk } from '../../src/model/ai-sdk.ts'
import { chunksOf, type ModelReply, startModelServer } from '../fixtures/model-server.ts'
import { responsesEvents } from '../fixtures/responses-events.ts'
import { modelSuite, type Scene } from '../suites/model.ts'

/** The providers of the AI SDK themselves, of each specification that is spoken. */
const PROVIDERS: Readonly<Record<string, (baseURL: string) => AiSdkModel>> = {
  '@ai-sdk/openai 2, Responses': (baseURL) => openai2({ baseURL, apiKey: 'k' }).responses('gpt-5'),
  '@ai-sdk/openai 3, Responses': (baseURL) => openai3({ baseURL, apiKey: 'k' }).responses('gpt-5'),
  '@ai-sdk/openai 4, Responses': (baseURL) => openai4({ baseURL, apiKey: 'k' }).responses('gpt-5'),
  '@ai-sdk/openai-compatible 1': (baseURL) => compatible2({ baseURL, name: 'probe' })('probe'),
  '@ai-sdk/openai-compatible 3': (baseURL) => compatible4({ baseURL, name: 'probe' })('probe'),
}

function replyTo(scene: Scene, isChat: boolean): ModelReply {
  if (scene === 'refused') return { status: 400, body: { error: { message: 'No.', type: 'invalid_request_error' } } }
  const isCut = scene === 'cut' || scene === 'endless'
  const speech = isCut ? { text: 'It is noon.' } : scene
  const chunks = isChat ? chunksOf({ ...speech }) : responsesEvents(speech)
  if (isCut) return { chunks: chunks.slice(0, 4), end: scene === 'cut' ? 'cut' : 'hang' }
  return { chunks, end: isChat ? 'done' : 'close' }
}

for (const [name, make] of Object.entries(PROVIDERS)) {
  modelSuite(name, async (scene) => {
    const server = await startModelServer(({ path }) => replyTo(scene, path.endsWith('/chat/completions')))
    return {
      model: fromAiSdk(make(server.baseUrl)),
      lastRequest: () => server.calls.at(-1)?.body,
      close: () => server.close(),
    }
  })
}
