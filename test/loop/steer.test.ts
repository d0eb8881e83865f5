import { expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import { fold } from '../../src/loop/fold.ts'
import type { RunState } from '../../src/loop/state.ts'
import { ask, play, say, tool } from '../fixtures/play.ts'

const more: readonly Message[] = [{ role: 'user', content: 'In Celsius, please.' }]

test('a steering input during calls reaches the model after their results', async () => {
  let state: RunState | undefined
  const { requests } = await play({
    script: [ask(['look']), say('20')],
    tools: [tool('look', () => state && fold(state, { type: 'input.added', messages: more }))],
    before: (start) => (state = start),
  })
  expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
})

test('a steering input during the last answer is answered in the same run', async () => {
  let state: RunState | undefined
  const { requests, state: after } = await play({
    script: [
      async function* () {
        if (state) fold(state, { type: 'input.added', messages: more })
        yield* say('68 F')
      },
      say('20 C'),
    ],
    before: (start) => (state = start),
  })
  expect(requests[1]?.messages).toEqual([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: '68 F' },
    ...more,
  ])
  expect(after.finished?.answer).toBe('20 C')
})
