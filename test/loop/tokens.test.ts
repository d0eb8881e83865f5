import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import { textTokens, tokensOf } from '../../src/loop/window/tokens.ts'

/** Texts with the tokens that the tokenizer o200k counts in them. */
const TEXTS: readonly (readonly [kind: string, text: string, tokens: number])[] = [
  [
    'English',
    'The quick brown fox jumps over the lazy dog, and then it rests in the shade of an old tree. '.repeat(10),
    201,
  ],
  [
    'German',
    'Der schnelle braune Fuchs springt über den faulen Hund und ruht sich danach im Schatten aus. '.repeat(10),
    221,
  ],
  ['Chinese', '敏捷的棕色狐狸跳过了懒狗，然后在一棵老树的树荫下休息。'.repeat(10), 250],
  ['JSON', '{"id":1042,"name":"Widget","price":19.99,"tags":["a","b"],"stock":true},'.repeat(10), 300],
  ['digits', '31415926535897932384626433832795028841971693993751'.repeat(4), 68],
  ['base64', 'aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IGVuY29kaW5n'.repeat(4), 170],
]

describe('the estimate of tokens', () => {
  test.each(TEXTS)('of %s is within half and double of what a tokenizer counts', (_, text, tokens) => {
    const ratio = textTokens(text) / tokens
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })

  test('counts text, files, reasoning and calls of a message, once for the same message', () => {
    const user: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'hello' },
        { type: 'image', mediaType: 'image/png', data: 'x'.repeat(1e6) },
      ],
    }
    expect(tokensOf(user)).toBe(4 + textTokens('hello') + 1500)
    const calls = [{ callId: 'c', tool: 'look', arguments: '{"at":1}' }]
    expect(tokensOf({ role: 'assistant', content: 'hm', reasoning: 'so', calls })).toBe(
      4 + textTokens('hm') + textTokens('so') + 4 + textTokens('look') + textTokens('{"at":1}'),
    )
  })
})
