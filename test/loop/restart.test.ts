import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, bodies, play, say, tool, types } from '../fixtures/play.ts'

const CUT = { code: 'model_stream_cut', message: 'Cut.', retryable: true }

/** The model says some words, and then its answer breaks off. */
function cut(text: string, error = CUT): ModelEvent[] {
  return [
    { type: 'text', text },
    { type: 'error', error },
  ]
}

describe('a model whose answer breaks off', () => {
  test('is asked again in the same step, and the text of the broken answer is in no message', async () => {
    const { events, state } = await play({ script: [cut('It is '), say('It is noon.')] })
    expect(bodies(events).slice(2, 6)).toMatchObject([
      { type: 'text.delta', text: 'It is ' },
      { type: 'step.restarted', step: 1, attempt: 2, because: 'model_stream_cut' },
      { type: 'text.delta', text: 'It is noon.' },
      { type: 'step.answered', step: 1, text: 'It is noon.' },
    ])
    expect(state.messages.at(-1)).toEqual({ role: 'assistant', content: 'It is noon.' })
  })

  test('is asked again at most three times in a step; the next step may begin again as often', async () => {
    const cuts = [cut('a'), cut('b'), cut('c')]
    const { state, requests } = await play({ script: [...cuts, ask(['add']), ...cuts, cut('d')], tools: [tool('add')] })
    expect(state.finished).toMatchObject({ status: 'failed', error: { code: 'model_stream_cut', message: 'Cut.' } })
    expect(requests).toHaveLength(8)
  })

  test('is asked again once if it was silent from the start', async () => {
    const silent: ModelEvent[] = [{ type: 'error', error: { ...CUT, code: 'model_timeout' } }]
    const { events, requests } = await play({ script: [silent, silent] })
    expect([types(events).slice(2), requests.length]).toEqual([['step.restarted', 'run.finished'], 2])
    const { state } = await play({ script: [silent, say('Here.')] })
    expect(state.finished?.answer).toBe('Here.')
  })

  test('is asked again once if it fell silent after its first words, with the number of broken answers', async () => {
    const silent = cut('It ', { ...CUT, code: 'model_timeout' })
    const { state, requests } = await play({ script: [silent, silent, say('Never.')] })
    expect(state.finished).toMatchObject({ status: 'failed', error: { code: 'model_timeout' } })
    expect(requests.map(({ cuts }) => cuts)).toEqual([undefined, 1])
  })

  test.each([
    ['it is not worth a retry', { ...CUT, retryable: false }],
    ['the provider says when to come again', { ...CUT, retryAfterMs: 1000 }],
    ['its rate limit is reached', { ...CUT, code: 'model_rate_limited' }],
  ])('fails the run if %s', async (_, error) => {
    const { state, requests } = await play({ script: [cut('It', error)] })
    expect([state.finished?.error?.code, requests.length]).toEqual([error.code, 1])
  })

  test('does not send an early call again', async () => {
    let calls = 0
    const look = tool('look', () => ++calls, { annotations: { readOnly: true } })
    const half = ask(['look']).slice(0, 1)
    const { state } = await play({
      script: [[...half, { type: 'error', error: CUT }], ask(['look']), say('Done.')],
      tools: [look],
      request: { eager: true },
    })
    expect([calls, state.finished?.answer, state.messages.map(({ role }) => role)]).toEqual([
      1,
      'Done.',
      ['user', 'assistant', 'tool', 'assistant'],
    ])
  })
})
