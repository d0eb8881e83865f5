import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from './stage.ts'

/** Runs that wait on real workerd while the key that started them changes. */
let model: ModelServer
let stage: Stage

const APPROVER = apiKey('approver', { id: 'approver', scopes: ['chat', 'approve'] })
const owner = (extra: object = {}) => apiKey('owner', { id: 'owner', scopes: ['chat', 'finance'], ...extra })

beforeAll(async () => {
  model = await startModelServer(({ body }) => ({
    chunks: body.messages.some(({ role }) => role === 'tool')
      ? chunksOf({ text: 'Done.' })
      : chunksOf({ calls: [{ tool: 'pays', arguments: '{}' }] }),
  }))
  stage = await startStage(
    {
      ...withKeys(APPROVER, owner()),
      MODEL: 'openai/test',
      OPENAI_BASE_URL: model.baseUrl,
      TOOL_POLICY: JSON.stringify({ pays: { scopes: ['finance'] } }),
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
  return response.json()
}

/** Deploys the edge with other keys. */
async function deploy(...keys: object[]): Promise<void> {
  await stage.server.update(({ workers, ...options }) => ({
    ...options,
    workers: workers.map((worker) =>
      'configPath' in worker && worker.configPath === 'wrangler.toml'
        ? { ...worker, vars: { ...worker.vars, ...withKeys(...keys) } }
        : worker,
    ),
  }))
}

test.each([
  [
    'has lost the scope of the tool',
    [owner({ scopes: ['chat'] })],
    { status: 'completed', calls: [{ ok: false, error: { code: 'tool_not_allowed' } }] },
  ],
  ['has been removed', [], { status: 'failed', error: { code: 'run_not_allowed' } }],
])('an approved call of a run whose key %s', async (name, keys, expected) => {
  await deploy(APPROVER, owner())
  const id = name.replaceAll(' ', '-')
  await ask('owner', '/conversations', { id })
  const { id: run, status, calls } = await ask('owner', `/conversations/${id}/runs`, { input: 'Pay' })
  expect([status, calls[0].status]).toEqual(['waiting', 'approval'])
  await deploy(APPROVER, ...keys)
  const path = `/conversations/${id}/runs/${run}`
  await ask('approver', `${path}/calls/${calls[0].id}`, { decision: 'approve' })
  await (await stage.ask(`${path}/events`, { headers: bearer('approver') })).text()
  expect(await ask('approver', path)).toMatchObject(expected)
})
