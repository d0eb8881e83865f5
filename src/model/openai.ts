import type { ModelProvider, ModelRequest } from '../contract/model.ts'
import { chatAnswers } from '../wire/openai-chat/ask-answer.ts'
import { encodeRequest, hasReasoning } from '../wire/openai-chat/ask-request.ts'
import { exchange } from './exchange.ts'
import { readText } from './refusal.ts'

export interface OpenAIOptions {
  /** Where `/chat/completions` is found; ends in `/v1` with most servers. Default: OpenAI's own. */
  readonly baseUrl?: string | undefined
  /** Sent as a bearer token. It is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. Default `openai`. */
  readonly provider?: string | undefined
  readonly fetch?: typeof fetch | undefined
  /** Milliseconds until something of an answer must have come. Default 120,000. */
  readonly firstByteMs?: number | undefined
  /** Milliseconds between two pieces of it. Default 60,000. */
  readonly idleMs?: number | undefined
}

const OPENAI = 'https://api.openai.com/v1'

/** The models of any server that speaks Chat Completions: OpenAI, Ollama, vLLM, Groq, a gateway. */
export function openai(options: OpenAIOptions = {}): ModelProvider {
  const { baseUrl, apiKey, provider = 'openai', fetch: send = fetch, ...times } = options
  const url = `${(baseUrl || OPENAI).replace(/\/+$/, '')}/chat/completions`
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
  }
  /** Models known to want their reasoning back. */
  const replaying = new Set<string>()

  async function ask(model: string, request: ModelRequest, signal: AbortSignal): Promise<Response> {
    const post = (replayReasoning: boolean) =>
      send(url, { method: 'POST', headers, body: encodeRequest(model, request, replayReasoning), signal })
    const replays = replaying.has(model)
    const response = await post(replays)
    // Some servers must have the reasoning of earlier steps back, others must not, and none says so before it refuses.
    if (![400, 422].includes(response.status) || !hasReasoning(request.messages)) return response
    const text = await readText(response)
    if (!text.includes('reasoning_content')) return new Response(text, response)
    if (replays) replaying.delete(model)
    else replaying.add(model)
    return post(!replays)
  }

  return (model) => ({
    name: `${provider}/${model}`,
    stream: (request, signal) =>
      exchange({ send: (abort) => ask(model, request, abort), codec: chatAnswers, signal, secret: apiKey, ...times }),
  })
}
