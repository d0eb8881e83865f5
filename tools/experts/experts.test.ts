import { describe, expect, test } from 'vitest'
import type { ToolRequest, ToolService } from '../../src/contract/tool.ts'
import { agentSource } from '../../src/loop/agent.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { callAnswer, say, scripted, type Script } from '../../test/fixtures/scripted.ts'
import { legal, medical, router, technical } from './agents.ts'
import Experts from './index.ts'
import { play } from '../../test/fixtures/play.ts'

/** The Worker as the runtime makes it, with its variables. */
function worker(env: Record<string, string>): ToolService & { fetch(): Response } {
  return Object.assign(Reflect.construct(Experts, []), { env })
}

/** What a model that says this makes of the experts, asked by another. */
async function answerOf(question: string, scripts: readonly Script[]) {
  const model = scripted(scripts)
  const models = modelChooser({ providers: { scripted: () => model }, defaultModel: 'scripted/model' })
  const { tools } = await agentSource([legal, medical, technical, router], { models, now: () => 0 }).list()
  const { state } = await play({ script: [callAnswer(router.name, { question })], tools })
  return { finished: state.finished, requests: model.requests }
}

test('the router is offered only the experts, and their answer is returned unchanged', async () => {
  const question = 'I broke my leg what should I do'
  const advice = '  Call 112 now.\n\n- Do not move it. '
  const { finished, requests } = await answerOf(question, [callAnswer(medical.name, { question }), say(advice)])
  expect(finished).toMatchObject({ status: 'completed', finish: 'return_direct', answer: advice })
  expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['legalExpert', 'medicalExpert', 'technicalExpert'],
    [],
  ])
  expect(requests[1]?.messages).toEqual([
    { role: 'system', content: medical.instructions },
    { role: 'user', content: question },
  ])
})

test('the router answers itself if no expert fits', async () => {
  const { finished } = await answerOf('Sing!', [say('There is a legal, a medical and a technical expert.')])
  expect(finished?.answer).toBe('There is a legal, a medical and a technical expert.')
})

describe('the Worker of the experts', () => {
  test('describes its agents once it has a model, and reports what is missing before', async () => {
    const { contract, tools } = await worker({ MODEL: 'openai/test' }).describe()
    expect([contract, tools.map(({ name, returnDirect }) => [name, returnDirect])]).toEqual([
      1,
      [legal, medical, technical, router].map(({ name }) => [name, 'always']),
    ])
    expect(await worker({}).describe()).toEqual({
      contract: 1,
      source: 'agent',
      tools: [],
      unavailable: [legal, medical, technical, router].map(({ name }) => ({
        name,
        reason: 'It has no model: The request names no model, and MODEL is not set.',
      })),
    })
    expect(worker({}).fetch().status).toBe(404)
  })

  test('refuses unknown agents, and calls of another definition', async () => {
    const experts = worker({ MODEL: 'openai/test' })
    const request: ToolRequest = {
      name: 'nobody',
      arguments: { question: 'Why?' },
      hash: 'old',
      context: {
        runId: 'run_1',
        callId: 'call_1',
        idempotencyKey: 'call_1',
        attempt: 1,
        deadline: 0,
        caller: { tenant: 'acme', scopes: [] },
        values: {},
      },
    }
    const codes = ['nobody', 'legalExpert'].map(async (name) => {
      const outcome = await experts.call({ ...request, name })
      return outcome.ok || outcome.error.code
    })
    expect(await Promise.all(codes)).toEqual(['unknown_tool', 'schema_mismatch'])
  })
})
