import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { copyOf, forgedRequest, forgedTool, runRow } from '../security/forged-copy.ts'
import { type Stage, startStage } from './stage.ts'

/** Copies on real workerd: those that an edge made, and those that a caller wrote. */
let model: ModelServer
let stage: Stage

const CALLS = [
  { tool: 'ledger', arguments: '{}' },
  { tool: 'echoes', arguments: '{}' },
  { tool: 'pays', arguments: '{}' },
]

beforeAll(async () => {
  model = await startModelServer(({ body }) => ({
    chunks: body.messages.some(({ role }) => role === 'tool')
      ? chunksOf({ text: 'Done.' })
      : chunksOf({ calls: CALLS, finish: 'tool_calls' }),
  }))
  stage = await startStage(
    {
      ...withKeys(
        apiKey('outsider', { id: 'outsider', tenant: 'acme', scopes: ['chat', 'backup'] }),
        apiKey('owner', { id: 'owner', tenant: 'ops', scopes: ['chat', 'tools:read', 'tools:write', 'finance'] }),
      ),
      MODEL: 'openai/test',
      OPENAI_BASE_URL: model.baseUrl,
      OUTCOME_SECRET: 'signs-what-this-edge-makes',
      TOOL_POLICY: JSON.stringify({ echoes: { scopes: ['finance'] } }),
    },
    { rogue: true },
  )
  const ledger = { description: 'Tells the balance.', inputSchema: { type: 'object' }, static: { text: 'Balance: 7.' } }
  const put = await stage.ask('/tools/ledger', { method: 'PUT', headers: bearer('owner'), json: ledger })
  expect(put.status).toBe(201)
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

async function ask(path: string, request: Parameters<Stage['ask']>[1] = {}) {
  const response = await stage.ask(path, { ...request, headers: bearer('outsider') })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

/** A copy with one run, which names another tenant's caller and tools as they never were. */
function forgery(id: string, status: string, more: object = {}): string {
  const request = forgedRequest({
    runId: 'run_forged',
    conversation: id,
    caller: { tenant: 'ops', key: 'owner', scopes: ['chat', 'finance'] },
    model: 'openai/test',
    ...more,
  })
  const tools = CALLS.map(({ tool }) => forgedTool(tool, `hash-of-${tool}`))
  return copyOf(id, [
    { table: 'toolsets', values: [1, JSON.stringify(tools)] },
    { table: 'runs', values: runRow({ id: 'run_forged', status, request: JSON.stringify(request) }) },
  ])
}

describe('a forged copy', () => {
  test.each(['parked', 'queued', 'running', 'waiting', 'cancelling'])(
    'runs no tool as another tenant, and none without its approval, with a run that is %s',
    async (status) => {
      const id = `forged-${status}`
      const before = model.calls.length
      expect(await ask(`/backups/${id}`, { method: 'PUT', body: forgery(id, status) })).toMatchObject({ status: 201 })
      const run = `/conversations/${id}/runs/run_forged`
      expect(await ask(`${run}/retry`, { method: 'POST' })).toMatchObject({
        status: 409,
        body: { code: 'run_not_parked' },
      })
      expect(await ask(run)).toMatchObject({ status: 200, body: { status: 'cancelled', calls: [] } })
      expect(model.calls).toHaveLength(before)
    },
  )

  test('whose turn is run again offers only what its key may call, as it is now', async () => {
    expect(await ask('/backups/again', { method: 'PUT', body: forgery('again', 'parked') })).toMatchObject({
      status: 201,
    })
    const { status, body } = await ask('/conversations/again/runs/run_forged/regenerate', { method: 'POST' })
    expect([status, body.status]).toEqual([202, 'waiting'])
    expect(body.calls.map(({ tool, status, error }: any) => [tool, status, error?.code])).toEqual([
      ['ledger', 'settled', 'unknown_tool'],
      ['echoes', 'settled', 'unknown_tool'],
      ['pays', 'approval', undefined],
    ])
  })
})
