import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import { checkHistory } from '../../src/wire/client/history.ts'

const check = (messages: readonly Message[]) => checkHistory(messages, 'input', 'callId')

const user: Message = { role: 'user', content: 'Hi' }
const answer: Message = { role: 'assistant', content: 'Hello.' }
const asks = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  calls: ids.map((callId) => ({ callId, tool: `tool_${callId}`, arguments: '{}' })),
})
const result = (callId: string, tool = ''): Message => ({
  role: 'tool',
  callId,
  tool,
  ok: true,
  content: [{ type: 'text', text: `result of ${callId}` }],
})

const LAST = 'must not be from the assistant, since it is the last message.'

describe('a history', () => {
  test('that ends with a user message or results is unchanged', () => {
    const histories: Message[][] = [
      [user],
      [user, answer, user],
      [user, asks('a'), result('a', 'tool_a')],
      [{ role: 'system', content: 'Be brief.' }],
    ]
    for (const messages of histories) expect(check(messages)).toEqual({ ok: true, request: messages })
  })

  test('gets results in call order, with the names of tools', () => {
    expect(check([user, asks('a', 'b'), result('b', 'other'), result('a'), answer, user])).toEqual({
      ok: true,
      request: [user, asks('a', 'b'), result('a', 'tool_a'), result('b', 'tool_b'), answer, user],
    })
  })

  test('may reuse a call id in a later step', () => {
    const messages = [user, asks('a'), result('a', 'tool_a'), asks('a'), result('a', 'tool_a')]
    expect(check(messages)).toEqual({ ok: true, request: messages })
  })

  test.each([
    ['input', 'must not be empty.', []],
    ['input[1]', LAST, [user, answer]],
    ['input[1]', LAST, [user, asks('a')]],
    ['input[1].callId', 'the call "a" answers no call of the preceding message.', [user, result('a')]],
    ['input[2].callId', 'the call "b" answers no call of the preceding message.', [user, asks('a'), result('b')]],
    [
      'input[4].callId',
      'the call "a" answers no call of the preceding message.',
      [user, asks('a'), result('a'), user, result('a')],
    ],
    ['input[1]', 'the call "a" is the id of two calls.', [user, asks('a', 'b', 'a')]],
    ['input[3].callId', 'the call "a" has a result already.', [user, asks('a'), result('a'), result('a')]],
    ['input[3]', 'the call "b" has no result.', [user, asks('a', 'b'), result('a'), user]],
    ['input[2]', 'the call "b" has no result.', [user, asks('a', 'b'), result('a')]],
  ])('is refused at %s: %s', (path, what, messages) => {
    expect(check(messages)).toEqual({ ok: false, error: { path, message: `${path}: ${what}`, missing: false } })
  })
})
