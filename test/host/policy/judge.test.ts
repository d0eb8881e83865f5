import { describe, expect, test } from 'vitest'
import type { CallToJudge, DecisionModel, DecisionReply, DecisionRequest } from '../../../src/contract/decision.ts'
import { modelJudge } from '../../../src/host/policy/judge.ts'
import { tool } from '../../fixtures/play.ts'

const { definition } = tool('sendMail', undefined, { description: 'Sends a mail.', annotations: { openWorld: true } })
const call: CallToJudge = { definition, arguments: '{"to":"ann@acme.com"}', userTexts: ['Mail Ann.', 'Now.'] }
const { signal } = new AbortController()

function goAhead(likelihood: number): DecisionReply {
  const answer = likelihood > 0.5 ? 'go_ahead' : 'harmful'
  const probabilities = { go_ahead: likelihood, not_requested: 0, harmful: 1 - likelihood, unclear: 0 }
  return { ok: true, answer, probabilities, usage: { inputTokens: 1000, outputTokens: 0 } }
}

/** A judge whose model answers so, and what the model was asked. */
function judgeOf(
  decide: DecisionModel['decide'],
  { price, timeoutMs = 60_000 }: Partial<DecisionModel & { timeoutMs: number }> = {},
) {
  const questions: DecisionRequest[] = []
  const model: DecisionModel = {
    name: 'systemone/nimble',
    decide: (question, limited) => {
      questions.push(question)
      return decide(question, limited)
    },
    ...(price && { price }),
  }
  return { judge: modelJudge({ model, threshold: 0.9, timeoutMs }), questions }
}

describe('a judge of calls', () => {
  test('asks whether the user wants this call, with nothing else that anybody has written', async () => {
    const { judge, questions } = judgeOf(async () => goAhead(0.99))
    await judge.call(call, signal)
    expect(questions).toEqual([
      {
        instructions: expect.stringContaining('Only `user` tells what the user wants'),
        input: {
          user: ['Mail Ann.', 'Now.'],
          tool: { name: 'sendMail', description: 'Sends a mail.', openWorld: true },
          arguments: { to: 'ann@acme.com' },
        },
        answers: {
          go_ahead: expect.any(String),
          not_requested: expect.any(String),
          harmful: expect.any(String),
          unclear: expect.any(String),
        },
      },
    ])
  })

  test.each([
    [0.9, true],
    [0.8999, false],
    [1, true],
    [0.1, false],
  ])('with the threshold 0.9 and a probability of %d says %s', async (likelihood, ok) => {
    const { judge } = judgeOf(async () => goAhead(likelihood))
    const reply = goAhead(likelihood)
    if (!reply.ok) throw new Error('no reply')
    const { answer, probabilities, usage } = reply
    expect(await judge.call(call, signal)).toEqual({ ok, model: 'systemone/nimble', answer, probabilities, usage })
  })

  test('has the cost of what it has used, as it counts', async () => {
    const { judge } = judgeOf(async () => goAhead(0.99), { price: { input: 2, output: 0 } })
    expect(await judge.call(call, signal)).toMatchObject({ usage: { inputTokens: 1000, outputTokens: 0, cost: 0.002 } })
    const lying = judgeOf(async () => ({ ...goAhead(0.99), usage: { inputTokens: -5, outputTokens: NaN } }))
    expect(await lying.judge.call(call, signal)).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0 } })
  })

  const failures: Readonly<Record<string, DecisionModel['decide']>> = {
    model_unavailable: async () => ({
      ok: false,
      error: { code: 'model_unavailable', message: 'Busy.', retryable: true },
    }),
    model_failed: async () => {
      throw new Error('a fault')
    },
  }
  test.each(Object.keys(failures))('is not sure after the failure %s', async (code) => {
    const { judge } = judgeOf(failures[code] ?? nothing)
    expect(await judge.call(call, signal)).toEqual({ ok: false, model: 'systemone/nimble', code })
  })

  test('is not sure if the model takes too long, also one that heeds no signal', async () => {
    const { judge } = judgeOf(nothing, { timeoutMs: 1 })
    expect(await judge.call(call, signal)).toEqual({ ok: false, model: 'systemone/nimble', code: 'model_timeout' })
  })

  test.each<[string, Partial<CallToJudge>, string]>([
    ['nothing of the user', { userTexts: [] }, 'no_user_text'],
    ['blank texts', { userTexts: ['', ''] }, 'no_user_text'],
    ['a long text of the user', { userTexts: ['x'.repeat(4000), 'x'.repeat(4001)] }, 'question_too_long'],
    ['long arguments', { arguments: JSON.stringify({ text: 'x'.repeat(8000) }) }, 'question_too_long'],
    ['arguments that are no JSON', { arguments: '{' }, 'invalid_arguments'],
  ])('asks nobody about %s, and is not sure', async (_, part, code) => {
    const { judge, questions } = judgeOf(async () => goAhead(0.99))
    expect(await judge.call({ ...call, ...part }, signal)).toEqual({ ok: false, model: 'systemone/nimble', code })
    expect(questions).toEqual([])
  })
})

function nothing(): Promise<DecisionReply> {
  return new Promise(() => {})
}
