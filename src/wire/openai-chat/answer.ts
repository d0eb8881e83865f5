import type { RunEvent } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { Usage } from '../../contract/model.ts'
import { runErrorObject } from './error.ts'
import { Shown, type ShownOptions, type ShownPart } from './shown.ts'
import type { ChatDelta, ChatFinish } from './types.ts'
import { toChatUsage } from './usage.ts'

export interface CompletionOptions extends ShownOptions {
  readonly id: string
  /** The model as the request named it. */
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
}

/** Turns a run's events into the text of a streamed completion. */
export interface CompletionEncoder {
  /** The SSE text that an event brings; empty for none. */
  readonly event: (event: RunEvent) => string
  /** The text after the last event: nothing, or the failure of a run whose events broke off. */
  readonly end: () => string
  /** True once the answer is over: what comes after belongs to another one. */
  readonly done: boolean
}

/** What becomes of a run whose events end without its end. */
export const BROKEN_OFF = { code: 'run_interrupted', message: 'The events of the run broke off.' }

/** What does not change along the stream is encoded once. A failure ends it without `[DONE]`. */
export function completionEncoder({
  includeUsage = false,
  ...options
}: CompletionOptions & { readonly includeUsage?: boolean | undefined }): CompletionEncoder {
  const shown = new Shown(options)
  const { id, model, created } = options
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`
  const apart = separator()
  const usageText = includeUsage ? ',"usage":null' : ''
  let begun = false
  let done = false
  let calls = 0

  function chunk(delta: ChatDelta, reason: ChatFinish | null = null): string {
    const choice = JSON.stringify({ index: 0, delta, logprobs: null, finish_reason: reason })
    return `${head}${choice}]${usageText}}\n\n`
  }

  function call({ callId, tool, arguments: text }: ToolCall): string {
    const index = calls++
    const first = { index, id: callId, type: 'function' as const, function: { name: tool, arguments: '' } }
    return chunk({ tool_calls: [first] }) + chunk({ tool_calls: [{ index, function: { arguments: text } }] })
  }

  function end(reason: ChatFinish, usage: Usage): string {
    done = true
    const last = includeUsage ? `${head}],"usage":${JSON.stringify(toChatUsage(usage))}}\n\n` : ''
    return `${chunk({}, reason)}${last}data: [DONE]\n\n`
  }

  function encode(part: ShownPart): string {
    switch (part.type) {
      case 'text':
        return chunk({ content: apart(part) })
      case 'reasoning':
        return chunk({ reasoning_content: apart(part) })
      case 'call':
        return call(part.call)
      case 'void':
        return ''
      case 'end':
        return end(part.reason, part.usage)
      default:
        return failure(part.error)
    }
  }

  function failure(error: { code: string; message: string }): string {
    done = true
    return `data: ${JSON.stringify(runErrorObject(error))}\n\n`
  }

  return {
    event: (event) => {
      if (done) return ''
      let text = begun ? '' : chunk({ role: 'assistant', content: '' })
      begun = true
      for (const part of shown.take(event)) text += encode(part)
      return text
    },
    end: () => (done ? '' : failure(BROKEN_OFF)),
    get done() {
      return done
    },
  }
}

/** Puts an empty line between texts of different blocks, for content and reasoning each by itself. */
function separator(): (part: { type: 'text' | 'reasoning'; block: number; text: string }) => string {
  const last: { text?: number; reasoning?: number } = {}
  return ({ type, block, text }) => {
    const isApart = last[type] !== undefined && last[type] !== block
    last[type] = block
    return isApart ? `\n\n${text}` : text
  }
}
