import type { ModelEvent } from '../../../contract/model.ts'
import type { Usage } from '../../../contract/usage.ts'
import { countAt, fieldsOf, textAt } from '../../fields.ts'
import { type DecodedAnswer, answerCodec, errorEvent, type Fields, finishEvent, toUsage } from '../model-answer.ts'
import { modelError, NOTHING, STREAM_CUT } from '../model-error.ts'
import { explainError } from '../openai-chat/error.ts'
import { outputAssembler } from './ask-output.ts'

/** The codec for the answers of Responses servers. */
export const responsesAnswers = answerCodec(responsesAnswer)

const ENDS = /^response\.(?:completed|incomplete|failed|cancelled)$/

/** Reads one answer. It is complete with the response object that ends it; a stream that ends before was cut. */
function responsesAnswer(): DecodedAnswer {
  const output = outputAssembler()

  /** Emits what the complete response holds and no event told, and returns how the answer ended. */
  function endOf(
    { status, error, incomplete_details, output: items, usage }: Fields,
    events: ModelEvent[],
  ): ModelEvent {
    if (error || status === 'failed' || status === 'cancelled') {
      return errorEvent(modelError(explainError({ error }) ?? { message: `The response is ${String(status)}.` }))
    }
    const isWhole = status !== 'incomplete'
    const fault = output.close(items, isWhole, events)
    if (fault) return errorEvent(fault)
    const totalUsage = usageOf(fieldsOf(usage))
    if (isWhole) return finishEvent(output.hasCalls() ? 'tool_calls' : 'stop', totalUsage, output.opaque())
    const isFiltered = textAt(incomplete_details, 'reason') === 'content_filter'
    return finishEvent(isFiltered ? 'content_filter' : 'length', totalUsage, undefined)
  }

  return {
    take: (chunk, events, event) => {
      const { type = event, object, response } = chunk
      if (object === 'response') return endOf(chunk, events)
      // The type of the event gives the status of a response that has none.
      if (ENDS.test(String(type))) return endOf({ status: String(type).slice(9), ...fieldsOf(response) }, events)
      output.take(chunk, type, events)
      return undefined
    },
    isOver: () => false,
    close: (_, isWhole) => errorEvent(isWhole ? NOTHING : STREAM_CUT),
  }
}

function usageOf(usage: Fields): Usage | undefined {
  return toUsage({
    inputTokens: countAt(usage, 'input_tokens'),
    outputTokens: countAt(usage, 'output_tokens'),
    cachedInputTokens: countAt(usage.input_tokens_details, 'cached_tokens'),
    cacheWriteTokens: countAt(usage.input_tokens_details, 'cache_write_tokens'),
    reasoningTokens: countAt(usage.output_tokens_details, 'reasoning_tokens'),
  })
}
