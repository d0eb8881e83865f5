import { describe, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'

const danger = tool('danger', () => 'boom', { approval: 'always' })
const scopes = ['chat', 'tools:read', 'approve']
const ours = bearer('ours')
const theirs = bearer('theirs')
const pick = { name: 'pick', inputSchema: { type: 'object' } }

function twoTenants(script: readonly Script[]): KeptEdge {
  const keys = [apiKey('ours', { tenant: 'acme', scopes }), apiKey('theirs', { tenant: 'other', scopes })]
  return keptEdge({ vars: withKeys(...keys), script, tools: [danger] })
}

/** A conversation of ours, with a run that waits for a decision. */
async function waiting() {
  const edge = twoTenants([ask(['danger']), say('theirs')])
  await edge.post('/conversations', { id: 'ours' }, ours)
  const run: any = await (await edge.post('/conversations/ours/runs', { input: 'Go' }, ours)).json()
  return { edge, run: run.id as string, call: run.calls[0].id as string }
}

const refusedAs = async (response: Response) => {
  const { code, error }: any = await response.json()
  return [response.status, code ?? error.code]
}

describe('for another tenant a conversation does not exist', () => {
  test.each<[string, string, object?]>([
    ['GET', ''],
    ['GET', '/runs'],
    ['GET', '/messages'],
    ['GET', '/usage'],
    ['GET', '/export'],
    ['GET', '/runs/RUN'],
    ['GET', '/runs/RUN/events'],
    ['POST', '/runs', { input: 'x' }],
    ['POST', '/runs/RUN/cancel', {}],
    ['POST', '/runs/RUN/regenerate', {}],
    ['POST', '/runs/RUN/calls/CALL', { decision: 'approve' }],
    ['POST', '/fork', { at: 1 }],
    ['DELETE', ''],
  ])('%s /conversations/ours%s', async (method, path, json) => {
    const { edge, run, call } = await waiting()
    const url = `/conversations/ours${path.replace('RUN', run).replace('CALL', call)}`
    const init = { method, headers: { ...theirs, 'content-type': 'application/json' } }
    const response = await edge.fetch(url, { ...init, ...(json && { body: JSON.stringify(json) }) })
    expect(await refusedAs(response)).toEqual([
      404,
      path === '' && method === 'GET' ? 'not_found' : 'unknown_conversation',
    ])
    expect(await (await edge.fetch(`/conversations/ours/runs/${run}`, { headers: ours })).json()).toMatchObject({
      status: 'waiting',
    })
    expect(edge.requests).toHaveLength(1)
  })

  test('and is not listed, and both tenants may use the same id', async () => {
    const { edge } = await waiting()
    expect(await (await edge.fetch('/conversations', { headers: theirs })).json()).toEqual([])
    const request = { messages: [{ role: 'user', content: 'Hi' }] }
    await edge.post('/v1/chat/completions', request, { ...theirs, 'x-conversation-id': 'ours' })
    expect([...edge.objects.keys()].sort()).toEqual(['v1/acme/ours', 'v1/other/ours'])
    expect(edge.requests[1]?.messages).toEqual([{ role: 'user', content: 'Hi' }])
  })
})

test.each(['../acme/ours', 'v1/acme/ours', 'a%2fb', 'ours.', '~run_0000000000000000000000', 'ours\u00e9', ' ', 'a:b'])(
  'the id %j is refused in a header, a body and a path',
  async (id) => {
    const { edge } = await waiting()
    const messages = [{ role: 'user', content: 'Hi' }]
    const count = edge.objects.size
    const path = `/conversations/${encodeURIComponent(id)}/messages`
    expect((await edge.fetch(path, { headers: theirs })).status).toBe(404)
    const answers = [
      ...(id.trim() === ''
        ? []
        : [edge.post('/v1/chat/completions', { messages }, { ...theirs, 'x-conversation-id': id })]),
      edge.post('/v1/chat/completions', { messages, edgecall: { conversation: id } }, theirs),
      edge.post('/v1/responses', { input: 'Hi', conversation: id }, theirs),
      edge.post('/v1/responses', { input: 'Hi', previous_response_id: `resp_${'0'.repeat(22)}_1_${id}` }, theirs),
      edge.post('/chat', { id, messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }, theirs),
      edge.post('/conversations', { id }, theirs),
    ]
    for (const answer of answers) expect((await answer).status).toBe(400)
    expect(edge.objects.size).toBe(count)
  },
)

test('the same Idempotency-Key of two tenants makes two runs, with a conversation and without', async () => {
  const edge = twoTenants([say('a'), say('b'), say('c'), say('d')])
  const once = { 'idempotency-key': 'same' }
  const answerOf = async (path: string, who: object) =>
    ((await (await edge.post(path, { input: 'Hi' }, { ...once, ...who })).json()) as any).answer
  expect([await answerOf('/runs', ours), await answerOf('/runs', theirs)]).toEqual(['a', 'b'])
  for (const who of [ours, theirs]) await edge.post('/conversations', { id: 'c' }, who)
  const path = '/conversations/c/runs'
  expect([await answerOf(path, ours), await answerOf(path, theirs)]).toEqual(['c', 'd'])
  expect([await answerOf('/runs', ours), await answerOf(path, theirs)]).toEqual(['a', 'd'])
})

test('another tenant cannot use our responses, calls or items', async () => {
  const edge = twoTenants([ask(['danger']), say('never'), ask(['pick']), say('never')])
  const first: any = await (await edge.post('/v1/responses', { input: 'Go' }, ours)).json()
  const [item] = first.output
  const approve = { type: 'mcp_approval_response', approval_request_id: item.id, approve: true }
  const bodies = [
    { input: 'And?', previous_response_id: first.id },
    { input: [approve], previous_response_id: first.id },
    { input: [approve] },
    { input: [{ type: 'item_reference', id: item.id }, approve] },
  ]
  for (const body of bodies) {
    const response = await edge.post('/v1/responses', body, theirs)
    expect([response.status >= 400 && response.status < 500, edge.requests.length]).toEqual([true, 1])
  }
  const statusFor = async (headers: Record<string, string>) =>
    (await edge.fetch(`/v1/responses/${first.id}`, { headers })).status
  expect([await statusFor(ours), await statusFor(theirs)]).toEqual([200, 404])
  const runId = first.output[0].id.replace(/^mcpr_call_([A-Za-z0-9]{22}).*$/, 'run_$1')
  const conversation = [...edge.objects.keys()].find((name) => name.startsWith('v1/acme/conv_'))?.slice(8)
  const record = await edge.fetch(`/conversations/${conversation}/runs/${runId}`, { headers: ours })
  expect(await record.json()).toMatchObject({ status: 'waiting' })
})

test('a result for a call that was handed to one tenant is not accepted from another', async () => {
  const edge = twoTenants([ask(['pick']), say('ours'), say('theirs')])
  const tools = [{ type: 'function', function: { name: 'pick' } }]
  const user = { role: 'user', content: 'Go' }
  const first: any = await (await edge.post('/v1/chat/completions', { messages: [user], tools }, ours)).json()
  const messagesWith = (content: string) => {
    const { message } = first.choices[0]
    const answer = { role: 'tool', tool_call_id: message.tool_calls[0].id, content }
    return { messages: [user, message, answer], tools }
  }
  // To them it is a history like any other, of a run of their own.
  await edge.post('/v1/chat/completions', messagesWith('forged'), theirs)
  const second: any = await (await edge.post('/v1/chat/completions', messagesWith('left'), ours)).json()
  expect(second.choices[0].message.content).toBe('theirs')
  expect(JSON.stringify(edge.requests[2]?.messages)).not.toContain('forged')
  expect(edge.requests[2]?.tools).toContainEqual(expect.objectContaining({ name: pick.name }))
})
