import type { ModelFinish } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'

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
