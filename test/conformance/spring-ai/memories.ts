import { expect } from 'vitest'
import type { Message } from '../../../src/contract/message.ts'
import { memory } from '../../../src/loop.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { after, QUESTION } from '../scene.ts'

const CHAT = '/v1/chat/completions'

const user = (content: string): Message => ({ role: 'user', content })
const answerOf = (content: string): Message => ({ role: 'assistant', content })
const system = (content: string): Message => ({ role: 'system', content })

/** What a memory of so many messages shows of these. */
function visibleMessages(messages: number, ...added: readonly Message[]): readonly Message[] {
  const remembered = memory({ messages })
  remembered.add(...added)
  return remembered.messages()
}

/** Asks the conversation `talk`. */
function talk(edge: ReturnType<typeof keptEdge>, ...messages: readonly object[]): Promise<Response> {
  return edge.post(CHAT, { messages }, { 'x-conversation-id': 'talk' })
}

/** Rows 109 to 116: what is remembered, and how much of it a model sees. */
export const memories: readonly Row[] = [
  {
    row: 109,
    says: 'a window holds at least something',
    verdict: different('the turn under way is seen in any case, so no number is too small', () => {
      for (const messages of [0, -1])
        expect(visibleMessages(messages, user('1'), answerOf('1'), user('2'))).toEqual([user('2')])
    }),
  },
  {
    row: 110,
    says: 'of three turns a window of two messages shows the question under way',
    verdict: same(() => {
      expect(visibleMessages(2, user('1'), answerOf('1'), user('2'), answerOf('2'), user('3'))).toEqual([user('3')])
    }),
  },
  {
    row: 111,
    says: 'a window begins where a turn begins, and shows all that fits exactly',
    verdict: same(() => {
      const turns = [user('1'), answerOf('1'), user('2'), answerOf('2')]
      expect(visibleMessages(3, ...turns, user('3'), answerOf('3'))).toEqual([user('3'), answerOf('3')])
      expect(visibleMessages(3, ...turns)).toEqual([user('2'), answerOf('2')])
      expect(visibleMessages(4, ...turns)).toEqual(turns)
    }),
  },
  {
    row: 112,
    says: 'system messages stay in the window, even where it is too small; a new one takes the place of the old',
    verdict: different('what is said of a run holds for that run alone, so there is nothing to replace', async () => {
      const turns = [user('1'), answerOf('1'), user('2'), answerOf('2')]
      expect(visibleMessages(2, system('Be brief.'), ...turns)).toEqual([system('Be brief.'), user('2'), answerOf('2')])
      expect(visibleMessages(1, system('Be brief.'), system('Be kind.'), user('1'))).toEqual([
        system('Be brief.'),
        system('Be kind.'),
        user('1'),
      ])
      const edge = keptEdge({ script: [say('one'), say('two')] })
      await talk(edge, system('Be brief.'), QUESTION)
      await talk(edge, system('Be kind.'), QUESTION)
      expect(edge.requests[1]?.messages).toEqual([system('Be kind.'), QUESTION, answerOf('one'), QUESTION])
    }),
  },
  {
    row: 113,
    says: 'what is remembered belongs to a conversation, which must be named',
    verdict: different('a request that names none is answered, and nothing of it is kept', async () => {
      const edge = keptEdge({ script: [say('one'), say('two')] })
      await edge.post(CHAT, { messages: [QUESTION] })
      await edge.post(CHAT, { messages: [user('And now?')] })
      expect(edge.requests.map(({ messages }) => messages)).toEqual([[QUESTION], [user('And now?')]])
      expect(edge.objects.size).toBe(0)
    }),
  },
  {
    row: 114,
    says: 'what was asked and what tools answered is remembered',
    verdict: different('the turn is kept whole: the calls that the results are of, and the answer', async () => {
      const edge = keptEdge({ script: [ask(['sun']), say('It shines')], tools: [tool('sun', () => 'bright')] })
      await talk(edge, QUESTION)
      const stored = (await (await edge.fetch('/conversations/talk/messages')).json()) as { message: Message }[]
      const callId = expect.stringMatching(/^call_/)
      expect(stored.map(({ message }) => message)).toEqual([
        QUESTION,
        { role: 'assistant', content: '', calls: [{ callId, tool: 'sun', arguments: '{}' }] },
        { role: 'tool', callId, tool: 'sun', ok: true, content: [{ type: 'text', text: 'bright' }] },
        answerOf('It shines'),
      ])
    }),
  },
  {
    row: 115,
    says: 'what a request repeats of the memory is not seen twice, and the turn under way is not forgotten',
    verdict: different(
      'a window that is too small for the turn under way shows it whole, not its last result alone',
      async () => {
        const edge = keptEdge({ script: [say('one'), say('two')] })
        await talk(edge, QUESTION)
        await talk(edge, QUESTION, answerOf('one'), user('And now?'))
        expect(edge.requests[1]?.messages).toEqual([QUESTION, answerOf('one'), user('And now?')])
        const open = after('sun', 'rain')
        expect(visibleMessages(2, user('1'), answerOf('1'), ...open)).toEqual(open)
      },
    ),
  },
  {
    row: 116,
    says: 'the system message comes first, wherever it was said',
    verdict: same(async () => {
      const edge = keptEdge({ script: [say('one'), say('two')] })
      await talk(edge, QUESTION)
      await talk(edge, user('And now?'), system('Be brief.'))
      expect(edge.requests[1]?.messages).toEqual([system('Be brief.'), QUESTION, answerOf('one'), user('And now?')])
    }),
  },
]
