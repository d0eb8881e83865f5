import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DecisionModel, DecisionRequest } from '../../src/contract/decision.ts'
import { openAiDecisions, systemOne, workersAiDecisions } from '../../src/model/decisions.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

const REQUEST: DecisionRequest = {
  instructions: 'Is it safe?',
  input: { text: 'Hello' },
  answers: { yes: 'It is.', no: 'It is not.' },
}

let server: ModelServer
let reply: ModelReply = { body: {} }

beforeEach(async () => {
  server = await startModelServer(() => reply)
})
afterEach(() => server.close())

const decide = (model: DecisionModel) => model.decide(REQUEST, new AbortController().signal)

/** The answer of each format, with these probabilities. */
const systemOneAnswer = (probabilities: object, choice: unknown = 'yes') => ({
  model: 'nimble',
  answers: { decision: { type: 'choice', choice, probabilities, confidence: 0.8 } },
  usage: { input_tokens: 40, output_tokens: 0 },
})
const openAiAnswer = (probabilities: Record<string, unknown>, choice: unknown = 'yes') => ({
  model: 'gpt-6-luna',
  answers: [
    {
      type: 'choice',
      name: 'decision',
      choice,
      confidence: 0.8,
      probabilities: Object.entries(probabilities).map(([value, probability]) => ({ value, probability })),
    },
  ],
  usage: {
    input_tokens: 40,
    input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 40,
  },
})

test('System One is asked one choice of the answers, whose probabilities come back', async () => {
  reply = { body: systemOneAnswer({ yes: 0.9, no: 0.1 }) }
  const model = systemOne({ baseUrl: server.baseUrl, apiKey: 'ts-1' })('nimble')
  expect(await decide(model)).toEqual({
    ok: true,
    answer: 'yes',
    probabilities: { yes: 0.9, no: 0.1 },
    usage: { inputTokens: 40, outputTokens: 0 },
  })
  expect(model.name).toBe('systemone/nimble')
  expect(server.calls).toMatchObject([{ path: '/v1/systemone', headers: { authorization: 'Bearer ts-1' } }])
  expect(server.calls[0]?.body).toEqual({
    model: 'nimble',
    state: { text: 'Hello' },
    questions: {
      decision: { type: 'choice', instructions: 'Is it safe?', criteria: { yes: 'It is.', no: 'It is not.' } },
    },
  })
})

test('OpenAI’s Decisions API is asked one choice, whose probabilities come back', async () => {
  reply = { body: openAiAnswer({ yes: 0.9, no: 0.1 }) }
  const model = openAiDecisions({ baseUrl: `${server.baseUrl}/`, apiKey: 'sk-1' })('gpt-6-luna')
  expect(await decide(model)).toEqual({
    ok: true,
    answer: 'yes',
    probabilities: { yes: 0.9, no: 0.1 },
    usage: { inputTokens: 40, outputTokens: 0, cachedInputTokens: 8 },
  })
  expect(server.calls).toMatchObject([{ path: '/v1/decisions', headers: { authorization: 'Bearer sk-1' } }])
  expect(server.calls[0]?.body).toEqual({
    model: 'gpt-6-luna',
    input: '{"text":"Hello"}',
    questions: [
      {
        type: 'choice',
        name: 'decision',
        instructions: 'Is it safe?',
        choices: [
          { value: 'yes', description: 'It is.' },
          { value: 'no', description: 'It is not.' },
        ],
      },
    ],
  })
})

test('a model of OpenAI that refuses has no answer', async () => {
  reply = { body: { model: 'm', answers: [{ type: 'refusal', name: 'decision' }] } }
  expect(await decide(openAiDecisions({ baseUrl: server.baseUrl })('m'))).toMatchObject({
    ok: false,
    error: { code: 'model_refused_request' },
  })
})

test.each([
  ['as the binding gives it', (answer: object) => answer],
  ['in the envelope of the platform', (result: object) => ({ result, success: true, errors: [], messages: [] })],
])('Workers AI takes the format of System One, %s', async (_, wrap) => {
  const runs: unknown[] = []
  const run = async (model: string, inputs: object) => {
    runs.push([model, inputs])
    return wrap(systemOneAnswer({ yes: 0.9, no: 0.1 }))
  }
  const model = workersAiDecisions({ run })('@cf/cloudflare/clef-flash')
  expect(await decide(model)).toMatchObject({ ok: true, answer: 'yes' })
  expect(model.name).toBe('workers-ai/@cf/cloudflare/clef-flash')
  expect(runs).toMatchObject([['@cf/cloudflare/clef-flash', { model: 'clef-flash', state: { text: 'Hello' } }]])
})

test('an answer of Workers AI that failed is none', async () => {
  const run = async () => ({ result: systemOneAnswer({ yes: 0.9, no: 0.1 }), success: false, errors: [{ code: 1 }] })
  expect(await decide(workersAiDecisions({ run })('clef'))).toMatchObject({ error: { code: 'model_bad_response' } })
})

const PROBABILITIES: Readonly<Record<string, readonly [Record<string, unknown>, unknown?]>> = {
  'one is missing': [{ yes: 1 }],
  'one is of no answer that was asked for': [{ yes: 0.8, no: 0.1, maybe: 0.1 }],
  'one is no number': [{ yes: '0.9', no: 0.1 }],
  'one is above 1': [{ yes: 1.9, no: -0.9 }],
  'the sum is not 1': [{ yes: 0.9, no: 0.9 }],
  'the choice is none of the answers': [{ yes: 0.9, no: 0.1 }, 'maybe'],
  'the choice is not the most likely answer': [{ yes: 0.1, no: 0.9 }, 'yes'],
  'the choice is no text': [{ yes: 0.9, no: 0.1 }, true],
}

describe.each(Object.entries(PROBABILITIES))('an answer is malformed if %s', (_, [probabilities, choice]) => {
  test.each([
    ['System One', systemOneAnswer(probabilities, choice), systemOne],
    ['OpenAI', openAiAnswer(probabilities, choice), openAiDecisions],
  ])('of %s', async (_name, body, make) => {
    reply = { body }
    expect(await decide(make({ baseUrl: server.baseUrl })('m'))).toMatchObject({
      ok: false,
      error: { code: 'model_bad_response' },
    })
  })
})

test.each([
  ['no object', { body: 'nothing' }],
  ['no answers', { body: {} }],
  ['a question that was not asked', { body: { answers: { other: { type: 'choice', choice: 'yes' } } } }],
  ['an answer of another type', { body: { answers: { decision: { type: 'noul', noul: 0.99 } } } }],
])('%s is malformed', async (_, malformed) => {
  reply = malformed
  expect(await decide(systemOne({ baseUrl: server.baseUrl })('m'))).toMatchObject({
    ok: false,
    error: { code: 'model_bad_response' },
  })
})

test.each([
  [401, 'model_unauthorized'],
  [404, 'model_not_found'],
  [422, 'model_refused_request'],
  [429, 'model_rate_limited'],
  [503, 'model_unavailable'],
])('the status %d is the error %s, without the key', async (status, code) => {
  reply = { status, body: { detail: 'no good: ts-secret' } }
  const answer = await decide(systemOne({ baseUrl: server.baseUrl, apiKey: 'ts-secret' })('m'))
  expect(answer).toMatchObject({ ok: false, error: { code, status } })
  expect(JSON.stringify(answer)).not.toContain('ts-secret')
})

test('a redirect is not followed: the question and the key go to the configured server alone', async () => {
  reply = { status: 307, headers: { location: `${server.baseUrl}/elsewhere` }, body: '' }
  expect(await decide(systemOne({ baseUrl: server.baseUrl })('m'))).toMatchObject({ ok: false })
  expect(server.calls).toHaveLength(1)
})

test('a server that is not there, and a signal that aborts, are errors', async () => {
  const { baseUrl } = server
  const hanging = systemOne({
    baseUrl,
    fetch: (_url, { signal } = {}) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
  })('m')
  const controller = new AbortController()
  const answer = hanging.decide(REQUEST, controller.signal)
  controller.abort()
  expect(await answer).toMatchObject({ ok: false, error: { code: 'model_timeout' } })
  await server.close()
  expect(await decide(systemOne({ baseUrl })('m'))).toMatchObject({ ok: false, error: { code: 'model_unreachable' } })
  server = await startModelServer(() => reply)
})

test('an answer may have any name', async () => {
  const answers = Object.fromEntries([
    ['__proto__', 'This.'],
    ['constructor', 'That.'],
  ])
  const shares = '{"__proto__":0.7,"constructor":0.3}'
  reply = { body: `{"answers":{"decision":{"type":"choice","choice":"__proto__","probabilities":${shares}}}}` }
  const model = systemOne({ baseUrl: server.baseUrl })('m')
  const answer = await model.decide({ ...REQUEST, answers }, new AbortController().signal)
  expect(JSON.stringify(answer)).toBe(`{"ok":true,"answer":"__proto__","probabilities":${shares}}`)
})
