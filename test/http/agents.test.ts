import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agentSource } from '../../src/agent.ts'
import type { AgentOptions } from '../../src/contract/agent.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import type { ToolSource } from '../../src/contract/tool.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

const NOON = Date.parse('2026-03-01T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

const pay = tool('pay', () => 'paid', { approval: 'always' })
const agent = (name: string, tools: readonly string[]): AgentOptions => {
  return { name, description: `Is the ${name}.`, instructions: name, tools, durable: true }
}

/** Each asks the next one, the last of whom pays; then each says that it is done. */
const PLANS: Readonly<Record<string, string>> = { '': 'boss', boss: 'clerk', clerk: 'pay' }
function answer({ messages }: ModelRequest) {
  const [first] = messages
  const name = PLANS[first?.role === 'system' ? first.content : ''] ?? ''
  return messages.at(-1)?.role === 'tool' ? say('Done.') : ask([name, { question: 'Pay 5.' }])
}

/** An edge that lists its runs, with two agents of which one calls the other. */
function edgeWithAgents(): KeptEdge {
  let agents: ToolSource | undefined
  const find = async (names: readonly string[]) => [
    ...[pay].filter(({ definition }) => names.includes(definition.name)),
    ...((await agents?.find(names)) ?? []),
  ]
  const source = { find, offered: () => find(['boss']), list: async () => ({ tools: [], unavailable: [] }) }
  const vars = {
    AUTH: 'keys',
    ...withKeys(
      apiKey('web', { id: 'web', scopes: ['chat', 'metrics'] }),
      apiKey('judge', { id: 'judge', scopes: ['approve'] }),
      apiKey('other', { tenant: 'other', scopes: ['chat', 'approve'] }),
    ),
  }
  const edge = keptEdge({
    script: Array.from({ length: 20 }, () => answer),
    listsRuns: true,
    vars,
    setup: { tools: () => source },
  })
  agents = agentSource([agent('boss', ['clerk']), agent('clerk', ['pay'])], edge.setup)
  return edge
}

async function json(edge: KeptEdge, path: string, key = 'web'): Promise<any> {
  return (await edge.fetch(path, { headers: bearer(key) })).json()
}

/** Starts a run and waits until a person is asked. */
async function begin(edge: KeptEdge): Promise<{ run: string; approval: any }> {
  await edge.post('/conversations', { id: 'home' }, bearer('web'))
  const { id } = await (await edge.post('/conversations/home/runs', { input: 'Pay 5.' }, bearer('web'))).json<any>()
  const [approval] = await eventually(async () => {
    await edge.settle()
    vi.setSystemTime(Date.now() + 1000)
    const all = await json(edge, '/approvals', 'judge')
    expect(all).toHaveLength(1)
    expect((await json(edge, `/conversations/home/runs/${id}`)).calls[0].child.waits).toHaveLength(1)
    return all
  })
  return { run: id, approval }
}

async function recordAtEnd(edge: KeptEdge, run: string): Promise<any> {
  return eventually(async () => {
    await edge.settle()
    vi.setSystemTime(Date.now() + 1000)
    const record = await json(edge, `/conversations/home/runs/${run}`)
    expect(record.status).toBe('completed')
    return record
  })
}

describe('an approval in the run of an agent', () => {
  test('is listed with the calls that lead to it, and decided where it waits', async () => {
    const edge = edgeWithAgents()
    const { run, approval } = await begin(edge)
    const [child] = await json(edge, '/conversations?parent=home')
    expect(approval).toMatchObject({
      tool: 'pay',
      arguments: { question: 'Pay 5.' },
      path: [
        { conversation: 'home', run, agent: 'boss' },
        { conversation: child.id, run: child.run, call: expect.any(String), agent: 'clerk' },
      ],
      because: 'tool',
      caller: { tenant: 'acme', key: 'web' },
    })
    const url = `/conversations/${approval.conversation}/runs/${approval.run}/calls/${approval.id}`
    for (const key of ['web', 'other']) {
      const reply = await edge.post(url, { decision: 'approve' }, bearer(key))
      expect([key, reply.status]).toEqual([key, key === 'web' ? 403 : 404])
    }
    expect((await edge.post(url, { decision: 'approve' }, bearer('judge'))).status).toBe(200)
    expect(await recordAtEnd(edge, run)).toMatchObject({ answer: 'Done.' })
    expect(await json(edge, '/approvals', 'judge')).toEqual([])
  })

  test('is decided in the calling run as well, by what was seen', async () => {
    const edge = edgeWithAgents()
    const { run, approval } = await begin(edge)
    const url = `/conversations/home/runs/${run}/calls/${approval.id}`
    expect(await json(edge, url, 'judge')).toMatchObject({ conversation: approval.conversation, run: approval.run })
    const forged = { decision: 'approve', argumentsHash: '0'.repeat(64) }
    expect((await edge.post(url, forged, bearer('judge'))).status).toBe(409)
    const { argumentsHash } = approval
    const reply = await edge.post(url, { decision: 'approve', argumentsHash }, bearer('judge'))
    expect([reply.status, await reply.json()]).toEqual([200, { id: run, status: 'waiting' }])
    expect(await recordAtEnd(edge, run)).toMatchObject({ answer: 'Done.' })
  })
})

test('the runs and conversations of agents are listed where they are asked for, and their usage counts once', async () => {
  const edge = edgeWithAgents()
  const { run, approval } = await begin(edge)
  await edge.post(`/conversations/home/runs/${run}/calls/${approval.id}`, { decision: 'approve' }, bearer('judge'))
  const record = await recordAtEnd(edge, run)
  const runs = await eventually(async () => {
    await edge.settle()
    const all = await json(edge, '/runs?agents=true&status=completed')
    expect(all).toHaveLength(3)
    return all
  })
  expect((await json(edge, '/runs')).map(({ id }: any) => id)).toEqual([run])
  expect(
    runs
      .map(({ path = [] }: any) => path.map(({ agent }: any) => agent))
      .toSorted((a: any, b: any) => a.length - b.length),
  ).toEqual([[], ['boss'], ['boss', 'clerk']])
  expect(await json(edge, `/runs?parent=${run}`)).toHaveLength(2)
  expect((await json(edge, '/conversations')).map(({ id }: any) => id)).toEqual(['home'])
  expect(await json(edge, '/conversations?parent=home')).toMatchObject([{ agent: 'boss', calledBy: run }])
  // Two requests of each model, of 10 and 5 tokens.
  expect(record.usage).toEqual({ inputTokens: 60, outputTokens: 30 })
  for (const by of ['key', 'model'])
    expect(await json(edge, `/usage?by=${by}`)).toMatchObject({
      usage: [{ runs: 3, inputTokens: 60, outputTokens: 30 }],
    })
  const { usage: byTool } = await json(edge, '/usage?by=tool')
  const tokens = Object.fromEntries(byTool.map(({ name, inputTokens }: any) => [name, inputTokens]))
  expect(tokens).toEqual({ boss: 20, clerk: 20, pay: 0 })
})
