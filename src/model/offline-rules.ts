/**
 * The offline model: a stand-in for a language model that needs no network and no key, and says that it is one. It
 * reads the conversation and the offered tools and decides by rules only (one file each in offline/): which tool fits
 * the question (rank), with which arguments (fill), in which order (plan), and what its result means (answer). The
 * rules know general English and Chinese and no tool by name; a question that they cannot answer is refused. System
 * messages are not read; response formats and sampling options have no effect. Usage approximates tokens by words (Han
 * characters count one each).
 */
import { textOf } from '../contract/message.ts'
import type { ChatModel, ModelCapabilities, ModelEvent, ModelRequest } from '../contract/model.ts'
import { nextStep } from './offline/plan.ts'

export interface OfflineRulesOptions {
  /**
   * A clock for the model, for times in arguments when no offered tool tells the time. Default: none, as for a language
   * model; then the model says that it cannot know the time.
   */
  readonly now?: () => Date
}

const CAPABILITIES: ModelCapabilities = {
  tools: true,
  parallelCalls: true,
  singleCalls: false,
  toolChoice: true,
  streamedArguments: false,
  imagesInResults: false,
  structuredOutput: false,
}

const WORD = /\p{Script=Han}|(?:(?!\p{Script=Han})\S)+\s*|\s+/gu

/** Makes an offline model with a name such as `offline/rules`. The same request always gets the same answer. */
export function offlineRules(name: string, options: OfflineRulesOptions = {}): ChatModel {
  return {
    name,
    capabilities: CAPABILITIES,
    async *stream(request, signal) {
      try {
        for (const event of eventsOf(request, options.now)) {
          if (signal.aborted) return
          yield event
        }
      } catch (error) {
        const message = `The offline model failed: ${error instanceof Error ? error.message : String(error)}`
        yield { type: 'error', error: { code: 'model_failed', message, retryable: false } }
      }
    },
  }
}

function eventsOf(request: ModelRequest, now: (() => Date) | undefined): readonly ModelEvent[] {
  const step = nextStep(request, now)
  const inputTokens = request.messages.reduce((sum, { content }) => sum + pieces(textOf(content)).length, 0)
  if ('text' in step) {
    const words = pieces(step.text)
    return [
      ...words.map((text) => ({ type: 'text', text }) as const),
      { type: 'finish', finish: 'stop', usage: { inputTokens, outputTokens: words.length } },
    ]
  }
  const calls = step.calls.map((call) => ({ tool: call.tool, arguments: JSON.stringify(call.arguments) }))
  const outputTokens = calls.reduce((sum, call) => sum + pieces(call.arguments).length + 1, 0)
  return [
    ...calls.flatMap((call, index) => [
      { type: 'call.delta', index, ...call } as const,
      { type: 'call', index, ...call } as const,
    ]),
    { type: 'finish', finish: 'tool_calls', usage: { inputTokens, outputTokens } },
  ]
}

function pieces(text: string): readonly string[] {
  return text.match(WORD) ?? []
}
