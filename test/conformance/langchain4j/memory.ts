import { expect } from 'vitest'
import type { Message } from '../../../src/contract/message.ts'
import { memory } from '../../../src/loop.ts'
import { different, type Row } from '../rows.ts'

const user = (content: string): Message => ({ role: 'user', content })
const answer = (content: string): Message => ({ role: 'assistant', content })

/** The work of a turn: an answer that asks for so many tools, and their results. */
function work(count: number, text = 'done'): Message[] {
  const calls = Array.from({ length: count }, (_, index) => ({ callId: `c${index}`, tool: 'work', arguments: '{}' }))
  const results = calls.map(({ callId }): Message => {
    return { role: 'tool', callId, tool: 'work', ok: true, content: [{ type: 'text', text }] }
  })
  return [{ role: 'assistant', content: '', calls }, ...results]
}

const roles = (messages: readonly Message[]) => messages.map(({ role }) => role)

/** Rows 87 to 89: how much of what was said a model sees. */
export const memories: readonly Row[] = [
  {
    row: 87,
    says: 'where a window cuts off an answer that asked for tools, their results go with it',
    verdict: different('a turn is shown whole or not at all, so that no question is without its answer either', () => {
      for (const count of [1, 3]) {
        const window = memory({ messages: 3 + count })
        window.add(user('First'), ...work(count), answer('One'))
        expect(window.messages()).toHaveLength(3 + count)
        window.add(user('Second'), answer('Two'))
        expect(window.messages()).toEqual([user('Second'), answer('Two')])
      }
    }),
  },
  {
    row: 88,
    says: 'the same where tokens are counted, and where the first message alone is too much',
    verdict: different(
      'a turn is shown whole or not at all; of one that is too long by itself, what was said, with a note on its calls',
      () => {
        const window = memory({ tokens: 300 })
        window.add(user('First'), ...work(1, 'x'.repeat(300)), answer('One'))
        window.add(user('Second'), ...work(1, 'x'.repeat(200)), answer('Two'))
        expect(roles(window.messages())).toEqual(['user', 'assistant', 'tool', 'assistant'])
        window.add(user('Third'), ...work(1, 'x'.repeat(500)), answer('Three'))
        expect(roles(window.messages())).toEqual(['user', 'system', 'assistant'])
        const long = memory({ tokens: 10 })
        long.add(user('x'.repeat(500)))
        expect(long.messages()).toEqual([user('x'.repeat(500))])
      },
    ),
  },
  {
    row: 89,
    says: 'the system message stays, the limits may change while it is used, and nobody changes what is kept',
    verdict: different(
      'limits are those of the memory for its life; another one with others takes the same messages',
      () => {
        const system: Message = { role: 'system', content: 'Be brief' }
        const dialogue = [system, user('First'), answer('One'), user('Second'), answer('Two')]
        const window = memory({ messages: 2 })
        window.add(...dialogue)
        expect(window.messages()).toEqual([system, user('Second'), answer('Two')])
        const larger = memory({ messages: 4 })
        larger.add(...dialogue)
        expect(larger.messages()).toEqual(dialogue)
        const messages = [...larger.messages()]
        messages.length = 0
        dialogue.length = 0
        expect(larger.messages()).toHaveLength(5)
        const tokens = memory({ tokens: 4 })
        tokens.add(system, user('First'), answer('One'), user('Second'), answer('Two'))
        expect(tokens.messages()).toEqual([system, user('Second'), answer('Two')])
      },
    ),
  },
]
