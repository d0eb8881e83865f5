import type { RunEvent } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { RunError } from '../../contract/run.ts'
import { Shown, type ShownPart } from './shown.ts'
import { BROKEN_OFF, type CompletionOptions } from './answer.ts'
import type { ChatCompletion, ChatToolCall, EdgecallReport } from './types.ts'
import { toChatUsage } from './usage.ts'

type CompletionResult =
  | { readonly ok: true; readonly body: ChatCompletion }
  | { readonly ok: false; readonly error: RunError }

/** Gathers a run's events into a completion that is sent whole. */
export interface CompletionCollector {
  readonly event: (event: RunEvent) => void
  /** The completion, or why there is none; to be asked after the last event. */
  readonly result: () => CompletionResult
}

/** It shows what the stream would have shown, but for the text of steps that were asked again. */
export function completionCollector(
  options: CompletionOptions & { readonly conversation?: string | undefined },
): CompletionCollector {
  const { id, created, model, conversation } = options
  const shown = new Shown(options)
  const calls = callReports()
  const texts = new Map<number, string>()
  const reasonings = new Map<number, string>()
  const toolCalls: ChatToolCall[] = []
  let end: Extract<ShownPart, { type: 'end' | 'failure' }> = { type: 'failure', error: BROKEN_OFF }
  let runId = ''
  let steps = 0

  function take(part: ShownPart): void {
    if (part.type === 'text') add(texts, part)
    else if (part.type === 'reasoning') add(reasonings, part)
    else if (part.type === 'call') toolCalls.push(toChatCall(part.call))
    else if (part.type !== 'void') end = part
    else {
      texts.delete(part.block)
      reasonings.delete(part.block)
    }
  }

  function message(): ChatCompletion['choices'][0]['message'] {
    const text = joined(texts)
    return {
      role: 'assistant',
      content: text === '' && toolCalls.length > 0 ? null : text,
      refusal: null,
      ...(reasonings.size > 0 && { reasoning_content: joined(reasonings) }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    }
  }

  return {
    event: (event) => {
      runId = event.runId
      if (event.type === 'step.answered') steps += 1
      calls.see(event)
      for (const part of shown.take(event)) take(part)
    },
    result: () => {
      if (end.type === 'failure') return { ok: false, error: end.error }
      const report = { runId, ...(conversation !== undefined && { conversation }), steps, calls: calls.settled() }
      const body: ChatCompletion = {
        id,
        object: 'chat.completion',
        created,
        model,
        choices: [{ index: 0, message: message(), logprobs: null, finish_reason: end.reason }],
        usage: toChatUsage(end.usage),
        edgecall: { ...report, finish: end.finish },
      }
      return { ok: true, body }
    },
  }
}

function add(texts: Map<number, string>, { block, text }: { block: number; text: string }): void {
  texts.set(block, (texts.get(block) ?? '') + text)
}

function joined(texts: ReadonlyMap<number, string>): string {
  return [...texts.values()].join('\n\n')
}

/** The settled calls of the events seen, in the order in which the model asked for them. */
function callReports(): { see(event: RunEvent): void; settled(): EdgecallReport['calls'] } {
  const asked = new Map<string, ToolCall>()
  const settled = new Map<string, { ok: boolean; durationMs: number }>()
  return {
    see: (event) => {
      if (event.type === 'step.answered') for (const call of event.calls) asked.set(call.callId, call)
      if (event.type === 'call.settled') settled.set(event.callId, { ok: event.ok, durationMs: event.durationMs })
    },
    settled: () =>
      [...asked.values()].flatMap(({ callId, tool, arguments: text }) => {
        const outcome = settled.get(callId)
        return outcome ? [{ id: callId, tool, arguments: valueOf(text), ...outcome }] : []
      }),
  }
}

/** Arguments as JSON; text that is none stays text. */
function valueOf(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function toChatCall({ callId, tool, arguments: text }: ToolCall): ChatToolCall {
  return { id: callId, type: 'function', function: { name: tool, arguments: text } }
}
