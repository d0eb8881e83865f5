import type { ModelEvent } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import { countAt, fieldsOf, textAt } from '../fields.ts'
import { type Answer, answerCodec, failed, type Fields, finished, toUsage } from '../model-answer.ts'
import { modelError, NOTHING, STREAM_CUT } from '../model-error.ts'
import { explainError } from '../openai-chat/error.ts'
import { openOutput } from './ask-output.ts'

/** How the answers of Responses servers are read. */
export const responsesAnswers = answerCodec(responsesAnswer)

const ENDS = /^response\.(?:completed|incomplete|failed|cancelled)$/

/** One answer. It is complete once the response itself has come to an end; a stream that ends before was cut. */
function responsesAnswer(): Answer {
  const output = openOutput()

  /** The response as a whole: what it holds and was not told yet, and how it ended. */
  function endOf(
    { status, error, incomplete_details, output: items, usage }: Fields,
    events: ModelEvent[],
  ): ModelEvent {
    if (error || status === 'failed' || status === 'cancelled') {
      return failed(modelError(explainError({ error }) ?? { message: `The response is ${String(status)}.` }))
    }
    const isWhole = status !== 'incomplete'
    const fault = output.close(items, isWhole, events)
    if (fault) return failed(fault)
    const used = usageOf(fieldsOf(usage))
    if (isWhole) return finished(output.hasCalls() ? 'tool_calls' : 'stop', used, output.opaque())
    const isFiltered = textAt(incomplete_details, 'reason') === 'content_filter'
    return finished(isFiltered ? 'content_filter' : 'length', used, undefined)
  }

  return {
    take: (chunk, events, event) => {
      const { type = event, object, response } = chunk
      if (object === 'response') return endOf(chunk, events)
      // The event says how it ended, whatever the response says of that.
      if (ENDS.test(String(type))) return endOf({ status: String(type).slice(9), ...fieldsOf(response) }, events)
      output.take(chunk, type, events)
      return undefined
    },
    isOver: () => false,
    close: (_, isWhole) => failed(isWhole ? NOTHING : STREAM_CUT),
  }
}

function usageOf(usage: Fields): Usage | undefined {
  return toUsage(
    countAt(usage, 'input_tokens'),
    countAt(usage, 'output_tokens'),
    countAt(usage.input_tokens_details, 'cached_tokens'),
    countAt(usage.output_tokens_details, 'reasoning_tokens'),
  )
}
