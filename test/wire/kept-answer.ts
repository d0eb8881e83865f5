import fc from 'fast-check'
import type { AssistantMessage } from '../../src/contract/message.ts'
import type { AnswerCodec } from '../../src/wire/provider/model-answer.ts'
import { readWhole } from './recorded.ts'

/** Returns an answer as the loop keeps it: with call ids of our own, and through JSON as a journal stores it. */
export function keptAnswer(codec: AnswerCodec, body: object): AssistantMessage {
  const events = readWhole(codec, body)
  const end = events.at(-1)
  const calls = events.flatMap((event) =>
    event.type === 'call' ? { callId: `call_${event.index}`, tool: event.tool, arguments: event.arguments } : [],
  )
  return JSON.parse(
    JSON.stringify({
      role: 'assistant',
      content: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
      calls,
      opaque: end?.type === 'finish' ? end.opaque : undefined,
    }),
  )
}

/** Texts that are not blank. */
export const someText = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== '')

export const someArguments = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 })

export const someToolName = fc.constantFrom('clock', 'weather')
