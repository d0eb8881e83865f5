import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { recordOf } from '../../src/loop/record.ts'
import { play, type Play, say, types } from '../fixtures/play.ts'

const SENTENCE = 'The order of the customer was packed and leaves the warehouse in the morning. '

/** Twenty earlier turns: there is much to leave out. */
const HISTORY: readonly Message[] = Array.from({ length: 20 }, (_, turn): Message[] => [
  { role: 'user', content: `Question ${turn}: ${SENTENCE.repeat(10)}` },
  { role: 'assistant', content: `Answer ${turn}: ${SENTENCE.repeat(10)}` },
]).flat()

const refusal = (overflow: object): readonly ModelEvent[] => [
  { type: 'error', error: { code: 'model_context_exceeded', message: 'Too long.', retryable: false, overflow } },
]

const playWith = (script: Play['script']) =>
  play({ script, request: { input: [...HISTORY, { role: 'user', content: 'And now?' }] } })

describe('a model that says it is full', () => {
  const reasoning = { type: 'reasoning', text: 'Let me see.' } as const
  const full = { type: 'finish', finish: 'length' } as const

  test.each<[string, readonly ModelEvent[]]>([
    ['by a stop reason', [{ ...full, isWindowFull: true }]],
    ['with no output', [{ ...full, usage: { inputTokens: 4000, outputTokens: 0 } }]],
    [
      'with a prompt and an answer of its whole window',
      [{ ...full, usage: { inputTokens: 128_000, outputTokens: 3 } }],
    ],
  ])('%s, before any text, is asked again with a shorter prompt', async (_, answer) => {
    const { events, requests, state } = await playWith([answer, say('Done.')])
    expect(types(events)).toEqual([
      'run.started',
      'step.started',
      'context.reduced',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(state.finished?.answer).toBe('Done.')
    expect(requests[1]?.messages.length).toBeLessThan(requests[0]?.messages.length ?? 0)
  })

  test('after some reasoning is asked again too, and readers are told to drop the reasoning', async () => {
    const { events, state } = await playWith([[reasoning, { ...full, isWindowFull: true }], say('Done.')])
    expect(types(events)).toEqual([
      'run.started',
      'step.started',
      'reasoning.delta',
      'context.reduced',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(state.messages.at(-1)).toEqual({ role: 'assistant', content: 'Done.' })
  })

  test('after some text has given its answer, cut short', async () => {
    const text = { type: 'text', text: 'It is' } as const
    const { state } = await playWith([[text, { ...full, isWindowFull: true }]])
    expect(state.finished).toMatchObject({ status: 'completed', finish: 'length', answer: 'It is' })
  })
})

describe('a model that refuses a prompt as too long', () => {
  test('is asked three times more, each with less, and then the run fails with what to do', async () => {
    const { events, requests, state, faults } = await playWith(Array.from({ length: 4 }, () => refusal({})))
    const sizes = requests.map(({ messages }) => JSON.stringify(messages).length)
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one))
    expect(new Set(sizes).size).toBe(4)
    expect(types(events)).toEqual([
      'run.started',
      'step.started',
      ...['context.reduced', 'context.reduced', 'context.reduced'],
      'run.finished',
    ])
    expect(state.finished?.error).toEqual({
      code: 'model_context_exceeded',
      message:
        'Too long. No more of the prompt could be left out. Send a shorter message, offer fewer tools, or name a model with a larger context window.',
    })
    expect(faults).toHaveLength(4)
  })

  test('after text has left is not asked again', async () => {
    const { state, requests } = await playWith([[{ type: 'text', text: 'It is' }, ...refusal({})]])
    expect([state.finished?.error?.code, requests.length]).toEqual(['model_context_exceeded', 1])
  })
})

test('the record tells of each step what the model was sent, and what was reduced for it', async () => {
  const usage = { inputTokens: 5000, outputTokens: 20, cachedInputTokens: 4000, cacheWriteTokens: 500 }
  const { events, state } = await play({
    script: [
      refusal({ contextTokens: 7000 }),
      [
        { type: 'text', text: 'Done.' },
        { type: 'finish', finish: 'stop', usage },
      ],
    ],
    request: { input: [...HISTORY, { role: 'user', content: 'And now?' }] },
    window: { contextTokens: 12_000 },
  })
  const [reduced] = events.flatMap((event) => (event.type === 'context.reduced' ? [event] : []))
  const { before = 0, after = 0 } = reduced ?? {}
  expect(after).toBeLessThan(before)
  expect(recordOf(state).prompts).toEqual([
    {
      step: 1,
      reductions: [{ before, after, because: 'refused' }],
      ...{ inputTokens: 5000, cachedInputTokens: 4000, cacheWriteTokens: 500 },
      // A fifth of the window that the refusal told is kept for the answer.
      roomLeft: 600,
    },
  ])
  expect(events.find(({ type }) => type === 'step.answered')).toMatchObject({ roomLeft: 600 })
})
