import type { CallSettled, RunEvent } from '../../../contract/event.ts'
import { readableArguments, type ToolCall } from '../../../contract/message.ts'
import type { RunError } from '../../../contract/run.ts'
import type { CompletionOptions } from './answer.ts'
import { toChatCall } from '../../provider/openai-chat/call.ts'
import { CUT, VisibleText, type VisiblePart } from '../visible-text.ts'
import type { ChatCompletion, ChatToolCall, EdgecallReport } from '../../provider/openai-chat/types.ts'
import { toChatUsage } from '../../provider/openai-chat/usage.ts'

type CompletionResult =
  | { readonly ok: true; readonly body: ChatCompletion }
  | { readonly ok: false; readonly error: RunError }

/** Collects a run's events into a complete answer, without streaming. */
export interface CompletionCollector {
  readonly event: (event: RunEvent) => void
  /** Returns the completion, or the error of the run. Call it after the last event. */
  readonly result: () => CompletionResult
}

/** Makes a collector. The answer has the text that a stream would show, without that of repeated attempts. */
export function completionCollector(
  options: CompletionOptions & { readonly conversation?: string | undefined },
): CompletionCollector {
  const { id, created, model, conversation } = options
  const visible = new VisibleText({ ...options, waitsForAnswer: true })
  const texts = { text: '', reasoning: '' }
  const toolCalls: ChatToolCall[] = []
  const callerCalls: (ToolCall & { readonly parent?: string })[] = []
  const results = new Map<string, CallSettled>()
  let end: Extract<VisiblePart, { type: 'end' | 'failure' }> = CUT
  let runId = ''
  let steps = 0

  function take(part: VisiblePart): void {
    if ('text' in part) texts[part.type] += part.text
    else if (part.type === 'call') toolCalls.push(toChatCall(part.call))
    else end = part
  }

  /** The settled calls, in the order in which the model asked for them. */
  function report(): EdgecallReport['calls'] {
    return callerCalls.flatMap(({ callId, parent, tool, arguments: text }) => {
      const outcome = results.get(callId)
      if (!outcome) return []
      const id = { id: callId, ...(parent !== undefined && { parent }) }
      return [{ ...id, tool, arguments: readableArguments(text), ok: outcome.ok, durationMs: outcome.durationMs }]
    })
  }

  return {
    event: (event) => {
      // Events after the end belong to another answer.
      if (end !== CUT) return
      runId = event.runId
      // `step.answered` has all the text of the deltas, and none of an earlier attempt.
      if (event.type.endsWith('.delta')) return
      if (event.type === 'call.settled') results.set(event.callId, event)
      if (event.type === 'call.issued') callerCalls.push(event)
      if (event.type === 'step.answered') {
        steps += 1
        callerCalls.push(...event.calls)
      }
      for (const part of visible.take(event)) take(part)
    },
    result: () => {
      if (end.type === 'failure') return { ok: false, error: end.error }
      const message = {
        role: 'assistant',
        content: texts.text || (toolCalls.length > 0 ? null : ''),
        refusal: null,
        ...(texts.reasoning && { reasoning_content: texts.reasoning }),
        ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      } as const
      const body: ChatCompletion = {
        id,
        object: 'chat.completion',
        created,
        model,
        choices: [{ index: 0, message, logprobs: null, finish_reason: end.reason }],
        usage: toChatUsage(end.usage),
        edgecall: { runId, conversation, steps, calls: report(), finish: end.finish },
      }
      return { ok: true, body }
    },
  }
}
