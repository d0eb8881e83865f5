import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AssistantMessage } from '../../src/contract/message.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import { anthropicAnswers } from '../../src/wire/provider/anthropic/ask-answer.ts'
import { encodeAnthropicRequest as encodeAnthropic } from '../../src/wire/provider/anthropic/ask-request.ts'
import { geminiAnswers } from '../../src/wire/provider/gemini/ask-answer.ts'
import { encodeGeminiRequest as encodeGemini } from '../../src/wire/provider/gemini/ask-request.ts'
import type { AnswerCodec } from '../../src/wire/provider/model-answer.ts'

/** A whole answer as the loop keeps it, through JSON as a journal would; calls are given ids of our own. */
function kept(codec: AnswerCodec, body: object): AssistantMessage {
  const decoder = codec.decoder()
  const events = [...decoder.push({ data: JSON.stringify(body) }), ...decoder.end(true)]
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

const requestOf = (...messages: ModelRequest['messages']): ModelRequest => ({ messages, tools: [] })

const words = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== '')
const args = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 })
const name = fc.constantFrom('clock', 'weather')

const block = fc.oneof(
  words.map((text) => ({ type: 'text', text })),
  fc
    .tuple(fc.string({ maxLength: 8 }), words)
    .map(([thinking, signature]) => ({ type: 'thinking', thinking, signature })),
  words.map((data) => ({ type: 'redacted_thinking', data })),
  fc.tuple(name, args).map(([tool, input]) => ({ type: 'tool_use', id: '', name: tool, input })),
)

test('an Anthropic answer with thinking is sent back unchanged', () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 8 }), words, (blocks, signature) => {
      let calls = 0
      const content = [{ type: 'thinking', thinking: '', signature }, ...blocks, { type: 'text', text: 'So.' }].map(
        (each) => (each.type === 'tool_use' ? { ...each, id: `call_${calls++}` } : each),
      )
      const answer = kept(anthropicAnswers, { type: 'message', content, stop_reason: 'end_turn' })
      const sent = JSON.parse(encodeAnthropic(requestOf(answer), { model: 'probe', maxTokens: 1, cache: true }))
      expect(sent.messages).toEqual([{ role: 'assistant', content: JSON.parse(JSON.stringify(content)) }])
    }),
  )
})

const part = fc.oneof(
  fc.tuple(words, words).map(([text, thoughtSignature]) => ({ text, thoughtSignature })),
  fc.tuple(words, words).map(([text, thoughtSignature]) => ({ text, thought: true, thoughtSignature })),
  fc.tuple(name, args, words, words).map(([tool, input, id, thoughtSignature]) => ({
    functionCall: { id, name: tool, args: input },
    thoughtSignature,
  })),
)

test('a signed Gemini answer is sent back unchanged', () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), words, (signed, text) => {
      const parts = [{ text }, ...signed, { text: 'So.' }]
      const answer = kept(geminiAnswers, { candidates: [{ content: { parts }, finishReason: 'STOP' }] })
      const sent = JSON.parse(encodeGemini(requestOf(answer)))
      expect(sent.contents).toEqual([{ role: 'model', parts: JSON.parse(JSON.stringify(parts)) }])
    }),
  )
})
