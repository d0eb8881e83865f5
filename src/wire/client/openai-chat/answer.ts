import type { RunEvent } from '../../../contract/event.ts'
import { encodeData } from '../../sse.ts'
import { openAiErrorObject } from './error.ts'
import { toChatCall } from '../../provider/openai-chat/call.ts'
import { CUT, VisibleText, type VisibleTextOptions, type VisiblePart } from '../visible-text.ts'
import type { ChatDelta, ChatFinish } from '../../provider/openai-chat/types.ts'
import { toChatUsage } from '../../provider/openai-chat/usage.ts'

export interface CompletionOptions extends VisibleTextOptions {
  readonly id: string
  /** The model as the request named it. */
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
}

/** Encodes a run's events as a streamed completion. Events after its end belong to another answer and are ignored. */
export interface CompletionEncoder {
  /** Returns the SSE text of an event, or '' if the event adds nothing. */
  readonly event: (event: RunEvent) => string
  /** Returns the text after the last event: '', or an error if the events stopped before the end of the run. */
  readonly end: () => string
  /** Of news, only text and reasoning are encoded. */
  readonly news: 'text'
  /** Whether no text of the current step has been encoded. */
  readonly canRestart: () => boolean
}

/** Makes an encoder. What all chunks share is encoded once. A failure ends the stream without `[DONE]`. */
export function completionEncoder({
  includeUsage,
  ...options
}: CompletionOptions & { readonly includeUsage?: boolean | undefined }): CompletionEncoder {
  const visible = new VisibleText(options)
  const { id, model, created } = options
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`
  const tail = `]${includeUsage ? ',"usage":null' : ''}}\n\n`
  let firstChunk = chunk({ role: 'assistant', content: '' })
  let isDone = false
  let calls = 0

  function chunk(delta: ChatDelta, reason: ChatFinish | null = null): string {
    return head + JSON.stringify({ index: 0, delta, logprobs: null, finish_reason: reason }) + tail
  }

  function encode(part: VisiblePart): string {
    switch (part.type) {
      case 'text':
        return chunk({ content: part.text })
      case 'reasoning':
        return chunk({ reasoning_content: part.text })
      case 'call':
        return chunk({ tool_calls: [{ index: calls++, ...toChatCall(part.call) }] })
      case 'end': {
        isDone = true
        const usage = includeUsage ? `${head}],"usage":${JSON.stringify(toChatUsage(part.usage))}}\n\n` : ''
        return `${chunk({}, part.reason)}${usage}data: [DONE]\n\n`
      }
      default:
        isDone = true
        return encodeData(openAiErrorObject(part.error))
    }
  }

  return {
    event: (event) => {
      if (isDone) return ''
      let text = firstChunk
      firstChunk = ''
      for (const part of visible.take(event)) text += encode(part)
      return text
    },
    end: () => (isDone ? '' : encode(CUT)),
    news: 'text',
    canRestart: () => visible.canRestart,
  }
}
