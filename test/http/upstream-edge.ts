import { anthropic, openai, responses } from 'edgecall'
import { onTestFinished } from 'vitest'
import type { ModelProvider } from '../../src/contract/model.ts'
import { type ModelCall, type ModelReply, startModelServer } from '../fixtures/model-server.ts'
import { responsesReply } from '../fixtures/responses-events.ts'
import { keptEdge } from './kept-edge.ts'

/** A block of an answer of Anthropic's, whole. */
export type Block = Readonly<Record<string, unknown>>

/** An answer of Anthropic's Messages API with these blocks. */
export function messageReply(content: readonly Block[], stop_reason = 'end_turn'): ModelReply {
  const usage = { input_tokens: 10, output_tokens: 5 }
  return { body: { type: 'message', role: 'assistant', content, stop_reason, usage } }
}

export const textReply = (text: string): ModelReply => messageReply([{ type: 'text', text }])

/** The formats of providers, with the answer `Done.` in each. */
export const UPSTREAMS = {
  anthropic: { provider: (baseUrl: string) => anthropic({ baseUrl, cache: 'off' }), done: textReply('Done.') },
  responses: {
    provider: (baseUrl: string) => responses({ baseUrl, provider: 'test' }),
    done: responsesReply({ text: 'Done.' }),
  },
  chat: {
    provider: (baseUrl: string) => openai({ baseUrl, provider: 'test' }),
    done: { body: { choices: [{ message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }] } },
  },
} as const satisfies Readonly<Record<string, { provider: (baseUrl: string) => ModelProvider; done: ModelReply }>>

/** An edge whose model is at a real server, which speaks the format of a provider. Ends with the test. */
export async function upstreamEdge(
  reply: (call: ModelCall, index: number) => ModelReply,
  provider: (baseUrl: string) => ModelProvider = UPSTREAMS.anthropic.provider,
  parts: Partial<Parameters<typeof keptEdge>[0]> = {},
) {
  const server = await startModelServer(reply)
  onTestFinished(() => server.close())
  const model = { ...provider(server.baseUrl)('probe'), name: 'test/scripted' }
  const resolve = () => ({ ok: true as const, name: model.name, model })
  const setup = { models: { resolve, list: () => [model.name] }, ...parts.setup }
  return { ...keptEdge({ script: [], ...parts, setup }), calls: server.calls }
}
