import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { failure } from '../../src/contract/tool.ts'
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from '../security/controlled-edge.ts'

const ADMIN = 'ops: chat tools:admin'
const READER = 'ops: chat tools:read'
const OTHER = 'acme: chat tools:admin'

function bankEdge(script: readonly Script[], vars: object = {}) {
  return controlledEdge({
    workers: {
      TOOL_BANK: [
        tool('pay', () => 'paid', { instructions: 'Pay once.' }),
        tool('lose', () => failure('tool_failed', 'It is lost.')),
      ],
    },
    script,
    keys: [ADMIN, READER, OTHER],
    vars: { TOOL_SEARCH: 'off', SYSTEM_PROMPT: 'Be brief.', ...vars },
  })
}

/** What of a request reaches the codec of a provider, as JSON. */
function sentTo({
  patience: _patience,
  traceparent: _traceparent,
  cacheKey: _cacheKey,
  ...request
}: ModelRequest): unknown {
  return JSON.parse(JSON.stringify(request))
}

async function run(edge: ReturnType<typeof bankEdge>, json: object): Promise<string> {
  await edge.as(ADMIN)('/conversations', { json: { id: 'c' } })
  return (await edge.as(ADMIN)('/conversations/c/runs', { json })).body.id
}

const pathOf = (id: string, step: number | string) => `/conversations/c/runs/${id}/steps/${step}/request`

describe('GET /conversations/{id}/runs/{run}/steps/{step}/request', () => {
  test('returns what the model was sent in each step, also after later turns', async () => {
    const edge = bankEdge([
      ...[say('Hello.'), ask(['pay']), ask(['lose', { n: 1 }], ['pay']), say('Paid.')],
      say('Again.'),
    ])
    await run(edge, { input: 'Hi' })
    const options = { toolChoice: 'required' }
    const id = await run(edge, { input: 'Pay twice', ...options })
    await run(edge, { input: 'And now?' })
    const answers = await Promise.all([1, 2, 3].map((step) => edge.as(ADMIN)(pathOf(id, step))))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.map(({ body }) => body)).toEqual(
      edge.requests.slice(1, 4).map((request, index) => ({
        ...{ run: id, step: index + 1, model: 'test/scripted', historyLength: 2 },
        ...(sentTo(request) as object),
      })),
    )
    expect(answers[0]?.body).toMatchObject({ toolChoice: 'required' })
  })

  test('returns the request after which the model gave an answer that fits its format', async () => {
    const edge = bankEdge([say('not JSON'), say('{"total":1}')])
    const schema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
    const id = await run(edge, { input: 'Sum', responseFormat: { type: 'json_schema', name: 'sum', schema } })
    const { body } = await edge.as(ADMIN)(pathOf(id, 1))
    expect(edge.requests).toHaveLength(2)
    expect(body).toMatchObject(sentTo(edge.requests[1] as ModelRequest) as object)
  })

  test('returns the request of a step that waits for approval', async () => {
    const edge = bankEdge([ask(['pay'])], { TOOL_POLICY: { pay: { approval: 'always' } } })
    const id = await run(edge, { input: 'Pay' })
    const { body } = await edge.as(ADMIN)(pathOf(id, 1))
    expect(body).toMatchObject(sentTo(edge.requests[0] as ModelRequest) as object)
  })

  test.each([
    ['a step that the run did not reach', 2, 404, 'unknown_step'],
    ['a step that is not a number', 'x', 400, 'invalid_request'],
    ['step 0', 0, 400, 'invalid_request'],
  ])('refuses %s', async (_, step, status, code) => {
    const edge = bankEdge([say('Hello.')])
    const id = await run(edge, { input: 'Hi' })
    const answer = await edge.as(ADMIN)(pathOf(id, step))
    expect([answer.status, answer.body.code]).toEqual([status, code])
  })

  test('refuses keys without tools:admin, other tenants, and unknown runs', async () => {
    const edge = bankEdge([say('Hello.')])
    const id = await run(edge, { input: 'Hi' })
    const answers = [
      await edge.as(READER)(pathOf(id, 1)),
      await edge.as(OTHER)(pathOf(id, 1)),
      await edge.as(ADMIN)(pathOf('run_none', 1)),
    ]
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, 'missing_scope'],
      [404, 'unknown_conversation'],
      [404, 'unknown_run'],
    ])
  })
})
