import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelFinish } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'
import { refusesList, sendJson, startLoopbackServer } from './loopback.ts'

/** What the model is asked, as an edge sends it: a body of Chat Completions. */
export interface ScriptedRequest {
  readonly model: string
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description?: string } }[]
  readonly [name: string]: unknown
}

/** An answer of the model; a text stands for `{ text }`. */
export type ScriptedAnswer = string | ScriptedSpeech | ScriptedFailure

export interface ScriptedSpeech {
  readonly text?: string
  readonly reasoning?: string
  /** Arguments that are text are sent as they are, which may be wrong JSON on purpose. */
  readonly calls?: readonly { readonly tool: string; readonly arguments?: object | string }[]
  readonly usage?: Usage
  /** How long the model is silent before its answer, in milliseconds. */
  readonly delayMs?: number
  /** `cut`: the connection breaks before the end of the answer. `hang`: it stays open, and no end comes. */
  readonly end?: 'cut' | 'hang'
}

export interface ScriptedFailure {
  /** The HTTP status, such as 429. */
  readonly status: number
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ScriptedServer {
  /** The variables with which an edge asks this model. */
  readonly vars: { readonly MODEL: string; readonly OPENAI_BASE_URL: string }
  /** The requests so far, in order. */
  readonly requests: readonly ScriptedRequest[]
  close(): Promise<void>
}

/**
 * Starts a model that follows a script: a Chat Completions server on a free port of 127.0.0.1, which streams. `script`
 * has an answer for each request, or is a function that makes one. A request beyond the script is refused with an error
 * that says so. Close it at the end.
 *
 * @example
 * const model = await startScriptedModel([{ calls: [{ tool: 'greeting', arguments: { name: 'Ada' } }] }, 'Done.'])
 * const worker = { configPath: 'wrangler.toml', vars: { AUTH: 'open', ...model.vars } }
 */
export async function startScriptedModel(
  script: readonly ScriptedAnswer[] | ((request: ScriptedRequest, index: number) => ScriptedAnswer),
): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = []
  const answerOf = (request: ScriptedRequest, index: number): ScriptedAnswer => {
    if (typeof script === 'function') return script(request, index)
    const message = `The script has ${script.length} answers, and this is request ${index + 1}.`
    return script[index] ?? { status: 400, message }
  }
  const server = await startLoopbackServer(async (request, response) => {
    if (refusesList(request, response)) return
    const body: ScriptedRequest = JSON.parse(await text(request))
    requests.push(body)
    await send(response, answerOf(body, requests.length - 1))
  })
  return {
    vars: { MODEL: 'openai/scripted', OPENAI_BASE_URL: `${server.url}/v1` },
    requests,
    close: () => server.close(),
  }
}

async function send(response: ServerResponse, answer: ScriptedAnswer): Promise<void> {
  if (typeof answer === 'object' && 'status' in answer) {
    const { status, message = 'The script wants this failure.', headers = {} } = answer
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    return sendJson(response, { error: { message, type: 'scripted', code: null } }, status)
  }
  const speech: ScriptedSpeech = typeof answer === 'string' ? { text: answer } : answer
  const { calls = [], delayMs = 0, end, ...rest } = speech
  if (delayMs > 0) await sleep(delayMs)
  const chunks = completionChunks({
    usage: { inputTokens: 10, outputTokens: 5 },
    ...rest,
    calls: calls.map(({ tool, arguments: args = {} }) => ({
      tool,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
  })
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
  response.flushHeaders()
  // Without the last chunks the answer has no finish.
  const chunksToSend = end ? chunks.slice(0, Math.max(1, chunks.length - 2)) : chunks
  for (const chunk of chunksToSend) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  if (end === 'cut') response.write('', () => response.destroy())
  else if (!end) response.end('data: [DONE]\n\n')
}

/** What a model says in one answer. */
export interface Speech {
  readonly reasoning?: string
  readonly text?: string
  /** Calls of tools, with their arguments as JSON text. */
  readonly calls?: readonly { readonly tool: string; readonly arguments: string }[]
  /** Default: `tool_calls` where there are calls, else `stop`. */
  readonly finish?: ModelFinish
  readonly usage?: Usage
}

/** Returns an answer as OpenAI streams it: words one by one, arguments in two fragments. */
export function completionChunks({ reasoning, text, calls = [], finish, usage }: Speech): object[] {
  const deltas: object[] = [{ role: 'assistant', content: '' }]
  if (reasoning !== undefined) deltas.push({ reasoning_content: reasoning })
  for (const word of text?.match(/\S+\s*/g) ?? []) deltas.push({ content: word })
  for (const [index, { tool, arguments: args }] of calls.entries()) {
    const half = args.length >> 1
    deltas.push(
      { tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: tool, arguments: '' } }] },
      { tool_calls: [{ index, function: { arguments: args.slice(0, half) } }] },
      { tool_calls: [{ index, function: { arguments: args.slice(half) } }] },
    )
  }
  const chunks = deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }]))
  chunks.push(chunk([{ index: 0, delta: {}, finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }]))
  if (usage) chunks.push({ ...chunk([]), usage: usageOf(usage) })
  return chunks
}

function chunk(choices: readonly object[]): object {
  return { id: 'chatcmpl-test', object: 'chat.completion.chunk', created: 1790000000, model: 'test', choices }
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
