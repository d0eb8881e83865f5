import { expect, test } from 'vitest'
import { decodeText, readBody } from '../../src/contract/bytes.ts'

/** A body of these texts, each a chunk; it notes whether its reader has left. */
function body(...texts: readonly string[]) {
  const state = { isCancelled: false }
  const chunks = texts.values()
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = chunks.next()
      if (done) controller.close()
      else controller.enqueue(new TextEncoder().encode(value))
    },
    cancel: () => void (state.isCancelled = true),
  })
  return { state, response: new Response(stream) }
}

test.each([
  ['a body under the limit', ['ab', 'c'], 4, 'abc', true],
  ['a body of just the limit', ['ab', 'c'], 3, 'abc', true],
  ['a body over the limit', ['ab', 'cd', 'ef'], 3, 'abc', false],
  ['no bytes of a body that has some', ['ab', 'cd', 'ef'], 0, '', false],
  ['an empty body', [], 0, '', true],
])('reads %s', async (_, ...[texts, most, text, isComplete]) => {
  const { response, state } = body(...texts)
  const start = await readBody(response, most)
  expect([decodeText(start.bytes), start.isComplete]).toEqual([text, isComplete])
  expect(state.isCancelled).toBe(!isComplete)
})

test('reads a message without a body, and rejects if the body breaks off', async () => {
  expect(await readBody(new Response(null), 9)).toEqual({ bytes: new Uint8Array(), isComplete: true })
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('lost')) })
  await expect(readBody(new Response(broken), 9)).rejects.toThrow('lost')
})

test('decodes text in its charset, and in UTF-8 if that is unknown', () => {
  expect(decodeText(new Uint8Array([0xe9]), 'latin1')).toBe('é')
  expect(decodeText(new TextEncoder().encode('é'), 'no-such')).toBe('é')
})
