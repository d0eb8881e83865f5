import { isObject, parseJson } from '../../contract/json.ts'
import type { ModelError, ModelEvent } from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import type { AnswerCodec, AnswerDecoder } from '../model-answer.ts'
import { badResponse, modelError, STREAM_CUT } from '../model-error.ts'
import { explainError, UNEXPLAINED } from '../openai-chat/error.ts'
import { usageOf } from '../openai-chat/usage.ts'
import { openOutput } from './ask-output.ts'

/** How the answers of Responses servers are read. */
export const responsesAnswers: AnswerCodec = { decoder: responsesAnswer, explain: explainError }

const ENDS = /^response\.(?:completed|incomplete|failed|cancelled)$/

const NOTHING: readonly ModelEvent[] = []

/** One answer. It is complete once the response itself has come to an end; a stream that ends before was cut. */
function responsesAnswer(): AnswerDecoder {
  const output = openOutput()
  let done = false

  function fail(error: ModelError): readonly ModelEvent[] {
    done = true
    return [{ type: 'error', error }]
  }

  /** The response as a whole: what it holds and was not told yet, and how it ended. */
  function close(response: Record<string, unknown>): readonly ModelEvent[] {
    const { status, error, incomplete_details: why } = response
    if (error || status === 'failed' || status === 'cancelled') {
      return fail(modelError(explainError({ error }) ?? { message: `The response is ${String(status)}.` }))
    }
    const events: ModelEvent[] = []
    const isFiltered = isObject(why) && why.reason === 'content_filter'
    const isWhole = status !== 'incomplete'
    const fault = output.close(response.output, isWhole, events)
    if (fault) return [...events, ...fail(fault)]
    done = true
    const usage = usageIn(response)
    const opaque = isWhole ? output.opaque() : undefined
    const finish = isWhole ? (output.hasCalls() ? 'tool_calls' : 'stop') : isFiltered ? 'content_filter' : 'length'
    return [...events, { type: 'finish', finish, ...(usage && { usage }), ...(opaque && { opaque }) }]
  }

  function take(chunk: Record<string, unknown>, type: unknown): readonly ModelEvent[] {
    const { response, object } = chunk
    if (type === 'error' || chunk.error) return fail(modelError(explainError(chunk) ?? UNEXPLAINED))
    if (object === 'response') return close(chunk)
    if (isObject(response) && ENDS.test(String(type))) return close(response)
    const events: ModelEvent[] = []
    output.take(chunk, type, events)
    return events
  }

  return {
    get done() {
      return done
    },
    push: ({ data, event }) => {
      if (done || data === '' || data.startsWith('[DONE]')) return NOTHING
      const chunk = parseJson(data)
      if (!isObject(chunk)) return fail(badResponse('The model server sent what is not JSON.'))
      return take(chunk, chunk.type ?? event)
    },
    end: (isWhole = false) => {
      if (done) return NOTHING
      return fail(isWhole ? badResponse('The model server answered no response.') : STREAM_CUT)
    },
  }
}

function usageIn({ usage }: Record<string, unknown>): Usage | undefined {
  if (!isObject(usage)) return undefined
  return usageOf({
    usage: {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      prompt_tokens_details: usage.input_tokens_details,
      completion_tokens_details: usage.output_tokens_details,
    },
  })
}
