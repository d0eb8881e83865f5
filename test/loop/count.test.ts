import { describe, expect, test } from 'vitest'
import { contentText, type Message } from '../../src/contract/message.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import type { TokenCount } from '../../src/contract/context.ts'
import { countOf, learnCount } from '../../src/loop/planning/count.ts'
import { tool } from '../fixtures/play.ts'

const TOOLS = Array.from({ length: 12 }, (_, at) => tool(`tool_${at}`).definition)

const textOf = (message: Message) =>
  message.role === 'system' || message.role === 'assistant'
    ? JSON.stringify(message)
    : contentText(typeof message.content === 'string' ? message.content : message.content.filter(isText))
const isText = ({ type }: { readonly type: string }) => type === 'text'
const filesOf = ({ content }: Message) =>
  typeof content === 'string' ? 0 : content.filter((part) => part.type !== 'text').length

/** How models count: the tokens of a text, of a tool, and of an image. The product knows none of these rules. */
const MODELS: readonly (readonly [name: string, text: (text: string) => number, tool: number, image: number])[] = [
  ['a token for each two characters', (text) => text.length / 2, 40, 1500],
  ['two tokens for each word', (text) => 2 * text.split(/\s+/).length, 40, 1500],
  ['a token for each three bytes, and large tools', (text) => new TextEncoder().encode(text).length / 3, 300, 1500],
  ['a token for each five characters, and small images', (text) => text.length / 5, 20, 85],
  ['a token for each four characters, and large images', (text) => text.length / 4, 60, 4005],
]

const SENTENCE = 'The order of the customer was packed and leaves the warehouse in the morning. '

/** The messages that a turn adds: a question, sometimes with an image, a call, its result, and an answer. */
function turnOf(turn: number, hasImage: boolean): Message[] {
  const question = { type: 'text', text: `Question ${turn}: ${SENTENCE.repeat(3)}` } as const
  const image = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8=' } as const
  const rows = Array.from({ length: 10 }, (_, row) => ({ id: turn * 100 + row, name: 'Widget', price: 19.99 }))
  return [
    { role: 'user', content: hasImage ? [question, image] : [question] },
    { role: 'assistant', content: '', calls: [{ callId: `c${turn}`, tool: 'tool_1', arguments: `{"turn":${turn}}` }] },
    {
      role: 'tool',
      callId: `c${turn}`,
      tool: 'tool_1',
      ok: true,
      content: [{ type: 'text', text: JSON.stringify(rows) }],
    },
    { role: 'assistant', content: `Answer ${turn}: ${SENTENCE.repeat(2)}` },
  ]
}

describe.each(MODELS)('a model that counts %s', (_, textTokens, toolTokens, imageTokens) => {
  const count = ({ messages, tools, responseFormat }: ModelRequest) =>
    messages.reduce((total, each) => total + textTokens(textOf(each)) + filesOf(each) * imageTokens, 0) +
    tools.length * toolTokens +
    (responseFormat ? 90 : 0)

  test.each([
    ['two answers, without images', 2, () => false],
    ['two answers, with an image at first', 2, (turn: number) => turn === 0],
    // Until then, what the second turn has added may be the image's or the text's.
    ['three answers, with images now and then', 3, (turn: number) => turn % 3 === 1],
  ])('is estimated within 5 % after %s', (__, answers, hasImage) => {
    const tokens: TokenCount = {}
    const messages: Message[] = [{ role: 'system', content: SENTENCE.repeat(20) }]
    const responseFormat = { type: 'json_schema', name: 'answer', schema: { type: 'object' } } as const
    for (let turn = 0; turn < 20; turn++) {
      messages.push(...turnOf(turn, hasImage(turn)))
      const request: ModelRequest = { messages: [...messages], tools: TOOLS, responseFormat }
      const counted = count(request)
      if (turn >= answers) expect(Math.abs(countOf(tokens, request) / counted - 1)).toBeLessThan(0.05)
      learnCount(tokens, request, { inputTokens: counted, outputTokens: 20 })
    }
  })
})

describe('a prompt that the server has cut without a word', () => {
  const requestOf = (turns: number): ModelRequest => ({
    messages: Array.from({ length: turns }, (_, turn) => turnOf(turn, false)).flat(),
    tools: [],
  })
  const count = (request: ModelRequest) => request.messages.reduce((total, each) => total + textOf(each).length / 3, 0)

  /** Plays a conversation of turns with a server that sees the newest messages that fit into its window. */
  function play(turns: number, seen: (request: ModelRequest, all: number) => number): TokenCount {
    const tokens: TokenCount = {}
    for (let turn = 1; turn <= turns; turn++) {
      const request = requestOf(turn)
      learnCount(tokens, request, { inputTokens: seen(request, count(request)), outputTokens: 20 })
    }
    return tokens
  }

  test('tells the window of the model, however slowly the prompt has grown', () => {
    const window = 8000
    const { contextTokens = 0 } = play(40, (request, all) => {
      let [rest, messages] = [all, request.messages]
      while (rest > window) {
        messages = messages.slice(1)
        rest = messages.reduce((total, each) => total + textOf(each).length / 3, 0)
      }
      return rest
    })
    expect(contextTokens).toBeGreaterThan(window * 0.9)
    expect(contextTokens).toBeLessThanOrEqual(window)
  })

  test('is not suspected of a prompt that fits, nor of a server that counts only what its cache does not have', () => {
    expect(play(40, (_, all) => all).contextTokens).toBeUndefined()
    let before = 0
    const uncached = play(40, (_, all) => {
      const added = all - before
      before = all
      return added
    })
    expect(uncached.contextTokens).toBeUndefined()
  })
})
