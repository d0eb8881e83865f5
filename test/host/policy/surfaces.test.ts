import { describe, expect, test } from 'vitest'
import { sha256 } from '../../../src/contract/json.ts'
import type { ToolPolicies } from '../../../src/contract/policy.ts'
import type { Tool, ToolSource } from '../../../src/contract/tool.ts'
import { applyPolicies } from '../../../src/host/policy/source.ts'
import { chain } from '../../../src/host/source/chain.ts'
import type { Script } from '../../fixtures/scripted.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, say, tool } from '../../fixtures/play.ts'

const calls: string[] = []
const TOOLS = ['open', 'secret', 'pay'].map((name) =>
  tool(name, () => {
    calls.push(name)
    return `${name} done`
  }),
)

function source(tools: readonly Tool[]): ToolSource {
  return {
    list: async () => ({ tools, unavailable: [] }),
    offered: async () => tools,
    find: async (names) => tools.filter(({ definition }) => names.includes(definition.name)),
  }
}

async function edgeWith(policies: ToolPolicies, script: readonly Script[] = [], limits: string[] = []) {
  const counts = new Map<string, number>()
  const rate = {
    limit: async ({ key }: { key: string }) => {
      limits.push(key)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return { success: (counts.get(key) ?? 0) <= 1 }
    },
  }
  const keys = [
    { sha256: await sha256('plain'), tenant: 'acme', scopes: ['chat', 'tools:read'] },
    { sha256: await sha256('cleared'), tenant: 'acme', scopes: ['chat', 'tools:read', 'clearance'] },
    { sha256: await sha256('other'), tenant: 'other', scopes: ['chat', 'tools:read', 'clearance'] },
  ]
  const edge = testEdge({
    vars: { AUTH: 'keys', API_KEYS: JSON.stringify(keys) },
    script,
    setup: { tools: applyPolicies(source(TOOLS), { policies, rates: { RATE_PAY: rate } }) },
  })
  const as = (key: string) => async (path: string, json?: unknown) => {
    const response = await edge.ask(path, {
      ...(json !== undefined && { json }),
      headers: {
        authorization: `Bearer ${key}`,
        ...(path === '/mcp' && { accept: 'application/json, text/event-stream' }),
      },
    })
    return { status: response.status, body: (await response.json()) as any }
  }
  return { edge, as }
}

const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name)

describe('a tool whose policy requires a scope', () => {
  const policies = { secret: { scopes: ['clearance'], tenants: ['acme'] } }

  test.each([
    ['plain', false],
    ['other', false],
    ['cleared', true],
  ])('is available to the key "%s": %s', async (key, isAvailable) => {
    const { as, edge } = await edgeWith(policies, [say('hello')])
    const callAs = as(key)
    const all = isAvailable ? ['open', 'pay', 'secret'] : ['open', 'pay']
    expect(names((await callAs('/tools')).body)).toEqual(all)
    expect((await callAs('/tools/secret')).status).toBe(isAvailable ? 200 : 404)
    calls.length = 0
    expect((await callAs('/tools/secret/call', { arguments: {} })).status).toBe(isAvailable ? 200 : 404)
    expect(calls).toEqual(isAvailable ? ['secret'] : [])
    const listing = await callAs('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    expect(names(listing.body.result.tools)).toEqual(all)
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'secret', arguments: {} } }
    expect((await callAs('/mcp', call)).body.error === undefined).toBe(isAvailable)
    if (!isAvailable) {
      const run = await callAs('/runs', { input: 'x', tools: ['secret'] })
      expect(run).toMatchObject({ status: 400, body: { code: 'unknown_tool' } })
    }
    await callAs('/runs', { input: 'x' })
    expect(edge.requests.map(({ tools }) => names(tools).sort())).toEqual([all])
  })
})

test('a name conflict is shown only to callers who may know of the tool', async () => {
  const twice = chain([source([tool('secret')]), source([tool('secret', undefined, { hash: 'other' })])])
  const tools = applyPolicies(twice, { policies: { secret: { scopes: ['clearance'] } }, rates: {} })
  const unavailableFor = async (...scopes: string[]) =>
    (await tools({ tenant: 'acme', scopes }).list()).unavailable.map(({ name }) => name)
  expect([await unavailableFor(), await unavailableFor('clearance')]).toEqual([[], ['secret', 'secret']])
})

test('the policy is checked again for the caller of each call', async () => {
  const tools = applyPolicies(source(TOOLS), { policies: { secret: { scopes: ['clearance'] } }, rates: {} })
  const [secret] = await tools({ tenant: 'acme', scopes: ['clearance'] }).find(['secret'])
  const context = { runId: 'r', callId: 'c', idempotencyKey: 'c', attempt: 1, deadline: 0, values: {} }
  const control = { whenAborted: () => new Promise<string>(() => {}), progress: async () => {} }
  const request = { name: 'secret', arguments: {}, hash: 'hash-secret' }
  const outcome = (scopes: string[]) =>
    secret?.call({ ...request, context: { ...context, caller: { tenant: 'acme', scopes } } }, control)
  expect(await outcome([])).toMatchObject({ ok: false, error: { code: 'unknown_tool' } })
  expect(await outcome(['clearance'])).toMatchObject({ ok: true })
})

test('the rate of a tool counts by tenant and tool, in runs and outside them, and tells the model what to do', async () => {
  const limits: string[] = []
  const { as, edge } = await edgeWith({ pay: { rate: 'RATE_PAY' } }, [ask(['pay'], ['open']), say('one')], limits)
  expect((await as('plain')('/tools/pay/call', { arguments: {} })).body).toMatchObject({ ok: true })
  const { body } = await as('cleared')('/runs', { input: 'pay' })
  expect(body.calls.map(({ ok, error }: any) => [ok, error?.code])).toEqual([
    [false, 'rate_limited'],
    [true, undefined],
  ])
  expect(edge.requests[1]?.messages.at(-2)).toMatchObject({
    content: [{ text: expect.stringContaining('called too often in a short time') }],
  })
  expect((await as('other')('/tools/pay/call', { arguments: {} })).body).toMatchObject({ ok: true })
  expect(limits).toEqual(['acme/pay', 'acme/pay', 'other/pay'])
})

test('the concurrency, time and size limits of one tool’s policy hold in a run and do not affect other tools', async () => {
  let [running, most] = [0, 0]
  const pay = tool('pay', async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    return 'p'.repeat(500)
  })
  const slow = tool('slow', (_args, _context, control) => control.whenAborted())
  const policies = { pay: { concurrency: 2, maxResultBytes: 100 }, slow: { timeoutMs: 20 } }
  const edge = testEdge({
    script: [ask(['pay'], ['pay'], ['pay'], ['pay'], ['slow'], ['open']), say('Done.')],
    setup: { tools: applyPolicies(source([pay, slow, ...TOOLS.slice(0, 1)]), { policies, rates: {} }) },
  })
  const run: any = await (await edge.ask('/runs', { json: { input: 'Go' } })).json()
  expect([run.status, most]).toEqual(['completed', 2])
  expect(run.calls.map((call: any) => [call.tool, call.ok, call.error?.code])).toEqual([
    ...Array.from({ length: 4 }, () => ['pay', true, undefined]),
    ['slow', false, 'timeout'],
    ['open', true, undefined],
  ])
  const [result] = edge.requests[1]?.messages.flatMap((each) => (each.role === 'tool' ? [each.content] : [])) ?? []
  expect(JSON.stringify(result).length).toBeLessThan(500)
})

test('an approval rule by arguments also holds for calls outside a run', async () => {
  const { as } = await edgeWith({ pay: { approval: { unless: { '/amount': { maximum: 10 } } } } })
  const pay = async (amount: unknown) => (await as('plain')('/tools/pay/call', { arguments: { amount } })).body
  expect(await pay(10)).toMatchObject({ ok: true })
  expect(await pay(11)).toMatchObject({ status: 422, code: 'approval_needs_conversation' })
  expect(await pay('10')).toMatchObject({ status: 422, code: 'approval_needs_conversation' })
})
