import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from './stage.ts'

/** What callers, tools and approvers bring is trusted no more on real workerd than their keys allow. */
let model: ModelServer
let stage: Stage

const CHATTER = apiKey('chatter', { id: 'chatter', scopes: ['chat', 'tools:read'] })
const BOTH = apiKey('both', { id: 'both', scopes: ['chat', 'approve', 'metrics'] })
const USAGE = { inputTokens: 1, outputTokens: 1 }

beforeAll(async () => {
  // The model calls the tools that the user names, one after another.
  model = await startModelServer(({ body: { messages } }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const tool = String(messages[last]?.content).split(' ')[
      messages.slice(last).filter(({ role }) => role === 'tool').length
    ]
    return {
      chunks:
        tool === undefined
          ? chunksOf({ text: 'Done.', usage: USAGE })
          : chunksOf({ calls: [{ tool, arguments: '{}' }], usage: USAGE }),
    }
  })
  stage = await startStage(
    {
      ...withKeys(CHATTER, BOTH),
      MODEL: 'openai/test',
      OPENAI_BASE_URL: model.baseUrl,
      FOUR_EYES: 'on',
      DEFAULT_TOOLS: 'pays,echoes,files.delete,overcharges,throws,leaks,reads',
      TOOL_POLICY: JSON.stringify({ 'files.delete': { scopes: ['files'] } }),
    },
    { rogue: true },
  )
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

async function ask(key: string, path: string, json?: object): Promise<any> {
  const response = await stage.ask(path, { headers: bearer(key), ...(json && { json }) })
  const body: object = await response.json()
  return { httpStatus: response.status, ...body }
}

test('a policy by a tool’s own name holds for the name that models know', async () => {
  const tools: any = await (await stage.ask('/tools', { headers: bearer('chatter') })).json()
  const names = tools.map(({ name }: any) => name)
  expect([names.includes('echoes'), names.includes('files_x2e_delete')]).toEqual([true, false])
  const run = await ask('chatter', '/runs', { input: 'files_x2e_delete' })
  expect(run.calls).toMatchObject([{ tool: 'files_x2e_delete', ok: false, error: { code: 'unknown_tool' } }])
  expect(await ask('chatter', '/tools/files_x2e_delete/call', { arguments: {} })).toMatchObject({ httpStatus: 404 })
})

test('a run reaches no tool beyond DEFAULT_TOOLS', async () => {
  const run = await ask('chatter', '/runs', { input: 'babbles' })
  expect(run.calls).toMatchObject([{ tool: 'babbles', ok: false, error: { code: 'unknown_tool' } }])
})

test('usage that a tool reports neither lifts a limit nor spoils the sums', async () => {
  const { usage, status } = await ask('chatter', '/runs', { input: 'overcharges' })
  expect([status, usage]).toEqual(['completed', { inputTokens: 2, outputTokens: 1e9 + 2 }])
  const metrics = await (await stage.ask('/metrics', { headers: bearer('both') })).text()
  expect(metrics).not.toMatch(/Infinity|NaN/)
})

test('a tool that throws again and again is not paused', async () => {
  for (let round = 0; round < 7; round++) {
    const { calls } = await ask('chatter', '/runs', { input: 'throws' })
    expect(calls[0].error.code).toBe('tool_failed')
  }
})

test('an outcome with a forged token is refused whatever its body is', async () => {
  const response = await stage.ask('/outcomes/forged', {
    headers: { 'content-type': 'application/json' },
    body: `{"result":"${'x'.repeat(200_000)}`,
    method: 'POST',
  })
  expect([response.status, ((await response.json()) as any).code]).toEqual([404, 'unknown_call'])
})

test('provider data that a caller writes reaches the model server only as reasoning', async () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'sig' }
  const file = { type: 'document', source: { type: 'file', file_id: 'file_of_others' } }
  const data = { codec: 'openai-chat/openai', data: { details: [file, thinking], extras: {} } }
  const encrypted_content = `edgecall.${btoa(JSON.stringify(data))}`
  const say = (role: string, content: string) => ({ type: 'message', role, content })
  const reasoning = { type: 'reasoning', summary: [], encrypted_content }
  const input = [say('user', 'Hi'), reasoning, say('assistant', 'Hello.'), say('user', '')]
  expect(await ask('chatter', '/v1/responses', { input, store: false })).toMatchObject({ httpStatus: 200 })
  const answer = model.calls.at(-1)?.body.messages.find(({ role }) => role === 'assistant')
  expect(answer).toEqual({ role: 'assistant', content: 'Hello.', thinking_blocks: [thinking] })
})

test('a call that sends data out needs approval after a failure that quotes private data', async () => {
  await ask('chatter', '/conversations', { id: 'quotes' })
  const run = await ask('chatter', '/conversations/quotes/runs', { input: 'leaks reads echoes' })
  expect([run.status, run.calls.at(-1)]).toMatchObject(['waiting', { tool: 'echoes', status: 'approval' }])
})

test('with FOUR_EYES an approver does not replace the arguments alone', async () => {
  await ask('chatter', '/conversations', { id: 'eyes' })
  const { id, calls } = await ask('chatter', '/conversations/eyes/runs', { input: 'pays' })
  const path = `/conversations/eyes/runs/${id}/calls/${calls[0].id}`
  const changed = { decision: 'approve', arguments: { amount: 9 } }
  expect(await ask('both', path, changed)).toMatchObject({ httpStatus: 403, code: 'second_person_needed' })
  expect(await ask('both', path, { decision: 'approve' })).toMatchObject({ httpStatus: 200 })
})

test('a limit of tokens holds with eager calls too', async () => {
  const names = Array.from({ length: 8 }, () => 'overcharges').join(' ')
  const { run } = await ask('chatter', '/runs', { input: names, limits: { tokens: 20 }, eager: true })
  const completed = run.calls.filter(({ ok }: { ok: boolean }) => ok)
  expect([run.finish, run.which, completed.length]).toEqual(['limit', 'tokens', 1])
})
