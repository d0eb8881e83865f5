import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import { checkHistory } from '../../src/wire/history.ts'

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

describe('a history', () => {
  test('that ends with a user’s word or with results stays as it is', () => {
    const histories: Message[][] = [
      [user],
      [user, answer, user],
      [user, asks('a'), result('a', 'tool_a')],
      [{ role: 'system', content: 'Be brief.' }],
    ]
    for (const messages of histories) expect(checkHistory(messages)).toEqual({ ok: true, messages })
  })

  test('gets its results in call order, with the names of the tools', () => {
    expect(checkHistory([user, asks('a', 'b'), result('b', 'other'), result('a'), answer, user])).toEqual({
      ok: true,
      messages: [user, asks('a', 'b'), result('a', 'tool_a'), result('b', 'tool_b'), answer, user],
    })
  })

  test('may use an id again in a later step', () => {
    const messages = [user, asks('a'), result('a', 'tool_a'), asks('a'), result('a', 'tool_a')]
    expect(checkHistory(messages)).toEqual({ ok: true, messages })
  })

  test.each([
    ['no_messages', 0, undefined, []],
    ['ends_with_assistant', 1, undefined, [user, answer]],
    ['ends_with_assistant', 1, undefined, [user, asks('a')]],
    ['unknown_call', 1, 'a', [user, result('a')]],
    ['unknown_call', 2, 'b', [user, asks('a'), result('b')]],
    ['unknown_call', 4, 'a', [user, asks('a'), result('a'), user, result('a')]],
    ['duplicate_call', 1, 'a', [user, asks('a', 'b', 'a')]],
    ['duplicate_result', 3, 'a', [user, asks('a'), result('a'), result('a')]],
    ['missing_result', 3, 'b', [user, asks('a', 'b'), result('a'), user]],
    ['missing_result', 2, 'b', [user, asks('a', 'b'), result('a')]],
  ] as const)('is refused for %s at %i', (kind, index, callId, messages) => {
    const fault = { kind, index, ...(callId !== undefined && { callId }) }
    expect(checkHistory(messages)).toEqual({ ok: false, fault })
  })
})
