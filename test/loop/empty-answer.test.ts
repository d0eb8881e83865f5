import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { bodies, ask, play, say, tool, types } from '../fixtures/play.ts'

const usage = { inputTokens: 10, outputTokens: 2 }
const STOP: ModelEvent = { type: 'finish', finish: 'stop', usage }
const NOTHING: ModelEvent[] = [STOP]

const FAILURE = { code: 'empty_answer', message: 'The model stopped without a text or a call.' }

describe('an answer without a text or a call', () => {
  test.each<[string, ModelEvent[]]>([
    ['nothing', NOTHING],
    ['blanks', [{ type: 'text', text: ' \n' }, STOP]],
    ['reasoning alone', [{ type: 'reasoning', text: 'I could answer now.' }, STOP]],
  ])('of %s is asked for once more, and both requests count', async (_, empty) => {
    const { events, requests } = await play({ script: [empty, say('It is noon.')] })
    expect(events.at(-1)).toMatchObject({
      type: 'run.finished',
      status: 'completed',
      answer: 'It is noon.',
      usage: { inputTokens: 20, outputTokens: 7 },
    })
    expect(bodies(events)).toContainEqual({ type: 'answer.cut', step: 1, usage })
    expect(bodies(events)).toContainEqual({ type: 'step.restarted', step: 1, attempt: 2, because: 'empty_answer' })
    const [first, second] = requests
    expect(second).toEqual({ ...first, cuts: 1 })
  })

  test('fails the run the second time, without another request', async () => {
    const { events, requests, faults } = await play({ script: [NOTHING, NOTHING] })
    expect(events.at(-1)).toMatchObject({
      type: 'run.finished',
      status: 'failed',
      error: FAILURE,
      usage: { inputTokens: 20, outputTokens: 4 },
    })
    expect(requests).toHaveLength(2)
    expect(faults).toMatchObject([
      { code: 'empty_answer', isRetried: true },
      { code: 'empty_answer', isRetried: false },
    ])
  })

  test('is asked for once in each step, also after an answer that broke off', async () => {
    const cut: ModelEvent[] = [
      { type: 'text', text: 'It' },
      { type: 'error', error: { code: 'model_stream_cut', message: 'Cut.', retryable: true } },
    ]
    const { events, requests } = await play({
      script: [cut, NOTHING, ask(['clock']), NOTHING, say('Noon.')],
      tools: [tool('clock')],
    })
    expect(events.at(-1)).toMatchObject({ status: 'completed', answer: 'Noon.' })
    expect(requests.map(({ cuts = 0 }) => cuts)).toEqual([0, 1, 2, 0, 1])
  })

  test.each<[string, ModelEvent[], object]>([
    ['that ran out of tokens', [{ type: 'finish', finish: 'length' }], {}],
    ['that was filtered', [{ type: 'finish', finish: 'content_filter' }], {}],
    ['that may have stopped at a sequence of `stop`', NOTHING, { sampling: { stop: ['END'] } }],
    ['beside a tool of the provider', [{ type: 'provider.call', tool: 'web_search', input: {}, ok: true }, STOP], {}],
  ])('%s is an answer', async (_, script, request) => {
    const { events, requests } = await play({ script: [script], request })
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'completed', answer: '' })
    expect(types(events)).not.toContain('step.restarted')
    expect(requests).toHaveLength(1)
  })
})
