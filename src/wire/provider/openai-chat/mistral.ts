import type { Message, ToolCall } from '../../../contract/message.ts'
import type { ModelRequest } from '../../../contract/model.ts'
import { encodeOnce } from '../../encode-once.ts'
import { hasContent } from './ask-request.ts'

/**
 * Adapts a request to Mistral's own servers, which refuse anything else: call ids have nine letters and digits (“must
 * be a-z, A-Z, 0-9, with a length of 9”), the limit of tokens has its old name, the seed its own, `stream_options` is
 * left out (usage comes unasked), and an answer stands between results and a message of the user (“Unexpected role
 * 'user' after role 'tool'”).
 */
export function forMistral({ messages, sampling = {}, ...request }: ModelRequest): ModelRequest {
  const { max_completion_tokens, max_tokens = max_completion_tokens, seed: random_seed, ...passed } = sampling
  return {
    ...request,
    messages: messages.filter(hasContent).flatMap((message, index, remaining) => {
      const isUnanswered = message.role === 'user' && remaining[index - 1]?.role === 'tool'
      return isUnanswered ? [ANSWER, message] : withShortIds(message)
    }),
    sampling: { ...passed, max_tokens, random_seed, stream_options: undefined },
  }
}

const ANSWER: Message = { role: 'assistant', content: 'OK.' }

const withShortIds = encodeOnce((message: Message): Message => {
  if (message.role === 'tool') return shortenCallId(message)
  return message.role === 'assistant' && message.calls
    ? { ...message, calls: message.calls.map(shortenCallId) }
    : message
})

/** Shortens a call id to its end, which tells calls apart: the edge's ids end in the step and the index of the call. */
function shortenCallId<WithCallId extends Pick<ToolCall, 'callId'>>(value: WithCallId): WithCallId {
  const letters = value.callId.replace(/[\W_]/g, '')
  return { ...value, callId: letters.slice(-9).padStart(9, '0') }
}
