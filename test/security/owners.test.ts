import { expect, test, vi } from 'vitest'
import { keyName } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const ACME = 'acme: chat tools:read tools:write'
const ACME_READER = 'acme: chat tools:read'
const GLOBEX = 'globex: chat tools:read tools:write'
const ADMIN = 'ops: chat tools:read tools:admin'
const BOTH = 'acme: tools:read tools:write tools:admin'
const KEYS = [ACME, ACME_READER, GLOBEX, ADMIN, BOTH]

function stage(options: Partial<Parameters<typeof controlledEdge>[0]> = {}) {
  const edge = controlledEdge({ workers: { TOOL_CLOCK: [tool('now')] }, keys: KEYS, ...options })
  const put = (key: string, name: string, text: string, headers?: Record<string, string>) =>
    edge.as(key)(`/tools/${name}`, {
      method: 'PUT',
      json: { description: `Says ${text}.`, inputSchema: { type: 'object' }, static: { text } },
      ...(headers && { headers }),
    })
  const call = async (key: string, name: string) => {
    const { status, body } = await edge.as(key)(`/tools/${name}/call`, { json: { arguments: {} } })
    return status === 200 ? body.content[0].text : status
  }
  const names = async (key: string, query = '') =>
    (await edge.as(key)(`/tools${query}`)).body.map(({ name }: { name: string }) => name)
  return { ...edge, put, call, names }
}

test('a definition of one tenant is neither seen nor called, found nor offered in another', async () => {
  const { as, put, call, names } = stage()
  expect((await put(ACME, 'greet', 'hello')).status).toBe(201)
  expect([await names(ACME), await names(ACME_READER), await names(GLOBEX), await names(ADMIN)]).toEqual([
    ['greet', 'now'],
    ['greet', 'now'],
    ['now'],
    ['now'],
  ])
  expect([await names(ACME, '?query=greet'), await names(GLOBEX, '?query=greet')]).toEqual([['greet'], []])
  expect([await call(ACME_READER, 'greet'), await call(GLOBEX, 'greet'), await call(ADMIN, 'greet')]).toEqual([
    'hello',
    404,
    404,
  ])
  for (const path of ['/tools/greet', '/tools/greet/versions']) {
    expect([path, (await as(ACME)(path)).status, (await as(GLOBEX)(path)).status]).toEqual([path, 200, 404])
  }
  const run = await as(GLOBEX)('/runs', { json: { input: 'Hi', tools: ['greet'] } })
  expect([run.status, run.body.code]).toEqual([400, 'unknown_tool'])
})

test('each tenant has names of its own, and answers for them alone', async () => {
  const { as, put, call } = stage()
  expect((await put(ACME, 'greet', 'hello')).status).toBe(201)
  expect((await put(GLOBEX, 'greet', 'bonjour', { 'if-none-match': '*' })).status).toBe(201)
  expect([await call(ACME, 'greet'), await call(GLOBEX, 'greet')]).toEqual(['hello', 'bonjour'])
  const [{ hash }] = (await as(ACME)('/tools/greet/versions')).body
  expect((await as(GLOBEX)('/tools/greet/rollback', { json: { hash } })).status).toBe(404)
  expect((await as(GLOBEX)(`/tools/greet/versions/${hash}`)).status).toBe(404)
  expect((await as(GLOBEX)('/tools/greet', { method: 'DELETE' })).status).toBe(204)
  expect([await call(ACME, 'greet'), await call(GLOBEX, 'greet')]).toEqual(['hello', 404])
  expect((await as(GLOBEX)('/tools/greet', { method: 'DELETE' })).status).toBe(404)
})

test('a definition of the edge is there for every tenant, and written by keys with tools:admin alone', async () => {
  const { as, put, call, names } = stage()
  expect((await put(ADMIN, 'hours', 'nine to five')).status).toBe(201)
  expect([await call(ACME, 'hours'), await call(GLOBEX, 'hours')]).toEqual(['nine to five', 'nine to five'])
  const [{ hash }] = (await as(ADMIN)('/tools/hours/versions')).body
  const response = await put(ACME, 'hours', 'never')
  expect([response.status, response.body.issues]).toEqual([
    422,
    [{ path: 'name', message: 'expected an unused name: "hours" is a tool of this edge' }],
  ])
  const removed = await as(ACME)('/tools/hours', { method: 'DELETE' })
  expect([removed.status, removed.body.code]).toEqual([403, 'missing_scope'])
  expect((await as(ACME)('/tools/hours/rollback', { json: { hash } })).status).toBe(404)
  for (const method of ['PUT', 'DELETE']) {
    const refusal = await as(ACME)('/tools/hours?owner=edge', { method, json: {} })
    expect([method, refusal.status, refusal.body.code]).toEqual([method, 403, 'missing_scope'])
  }
  expect((await as(ACME)('/tools/now/accept', { json: { hash } })).body.code).toBe('missing_scope')
  expect([await call(ACME, 'hours'), await names(ACME)]).toEqual(['nine to five', ['hours', 'now']])
})

test('a key with both scopes writes the definitions of the edge, unless it asks for those of its tenant', async () => {
  const { as, put, names } = stage()
  await put(BOTH, 'a', 'of the edge')
  const json = { description: 'Says b.', inputSchema: { type: 'object' }, static: { text: 'b' } }
  await as(BOTH)('/tools/b?owner=tenant', { method: 'PUT', json })
  expect([await names(ACME), await names(GLOBEX)]).toEqual([
    ['a', 'b', 'now'],
    ['a', 'now'],
  ])
  const places = (await as(BOTH)('/tools?source=kv')).body.map(({ place }: { place: string }) => place)
  expect(places).toEqual(['tool:a', 'tenant:acme/b'])
  const removal = await as(BOTH)('/tools/b', { method: 'DELETE' })
  expect([removal.status, removal.body.code]).toEqual([422, 'other_owner'])
  expect((await as(BOTH)('/tools/b?owner=tenant', { method: 'DELETE' })).status).toBe(204)
  expect((await as(BOTH)('/tools/b?owner=all', { method: 'DELETE' })).status).toBe(400)
})

test('the history of a definition names no key or tenant but the reader’s own', async () => {
  const { as, put } = stage()
  await put(ADMIN, 'hours', 'nine to five')
  const authors = async (key: string) =>
    (await as(key)('/tools/hours/versions')).body.map(({ by }: { by?: object }) => by)
  expect(await authors(ACME)).toEqual([undefined])
  expect(await authors(ADMIN)).toEqual([{ tenant: 'ops', key: keyName(ADMIN.replace(/\W+/g, '-')) }])
  await put(ACME, 'greet', 'hello')
  const [{ by }] = (await as(ACME_READER)('/tools/greet/versions')).body
  expect(by).toEqual({ tenant: 'acme', key: keyName(ACME.replace(/\W+/g, '-')) })
})

test('a tool that is later stored for the edge takes precedence over a tenant’s, which is listed with the reason', async () => {
  const { as, put, call } = stage()
  await put(ACME, 'greet', 'hello')
  await put(ADMIN, 'greet', 'good day')
  expect([await call(ACME, 'greet'), await call(GLOBEX, 'greet')]).toEqual(['good day', 'good day'])
  const listing = (await as(ACME)('/tools?source=kv')).body.map(
    ({ place, available, reason }: Record<string, unknown>) => [place, available, reason],
  )
  expect(listing).toEqual([
    ['tool:greet', true, undefined],
    [
      'tenant:acme/greet',
      false,
      'The tool "greet" of tenant:acme/greet is held back: tool:greet has a tool of this name.',
    ],
  ])
})

test('a name that is hidden from a tenant is free for it, as any other is', async () => {
  const policy = { payOut: { scopes: ['finance'] }, secret: { tenants: ['ops'] } }
  const { as, put, call } = stage({
    workers: { TOOL_BANK: [tool('payOut')] },
    vars: { TOOL_POLICY: policy },
  })
  await put(ADMIN, 'secret', 'of the edge')
  const answers = await Promise.all(['payOut', 'secret', 'nothing'].map((name) => put(ACME, name, 'own')))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
  expect(await Promise.all(['payOut', 'secret', 'nothing'].map((name) => call(ACME, name)))).toEqual([
    'own',
    'own',
    'own',
  ])
  expect(await call(ADMIN, 'secret')).toBe('of the edge')
  expect((await as(ACME)('/tools/secret/versions')).body).toHaveLength(1)
})

test('policies name a tenant’s definitions by their place', async () => {
  const { put, call, as } = stage({ vars: { TOOL_POLICY: { '@tenant:acme/*': { approval: 'always' } } } })
  await put(ACME, 'greet', 'hello')
  await put(GLOBEX, 'greet', 'bonjour')
  expect([await call(ACME, 'greet'), await call(GLOBEX, 'greet')]).toEqual([422, 'bonjour'])
  expect((await as(ACME)('/tools/greet')).body.approval).toBe('always')
})

test('a search by a model finds the definitions of the edge and of its own tenant', async () => {
  const search = [ask(['tool_search', { query: 'says hello' }]), say('Done.')]
  const { as, put } = stage({ script: [...search, ...search], vars: { TOOL_SEARCH: 'on' } })
  await put(ADMIN, 'helloEdge', 'hello')
  await put(ACME, 'helloAcme', 'hello')
  await put(GLOBEX, 'helloGlobex', 'hello')
  const namesFor = async (key: string) =>
    (await as(key)('/runs', { json: { input: 'Hi' } })).body.calls[0].structured.tools.toSorted()
  expect([await namesFor(ACME), await namesFor(GLOBEX)]).toEqual([
    ['helloAcme', 'helloEdge'],
    ['helloEdge', 'helloGlobex'],
  ])
})

test('a name that a tool server brings takes the place of no tool of the edge', async () => {
  const foreign = ['now', 'greet', 'hours', 'news'].map((name) =>
    tool(name, () => 'of others', { hash: `other-${name}` }),
  )
  const { as, put, call } = stage({ workers: { TOOL_CLOCK: [tool('now')], TOOL_MCP: foreign.slice(3) } })
  await put(ADMIN, 'hours', 'nine to five')
  await put(ACME, 'greet', 'hello')
  const later = stage({ workers: { TOOL_A: foreign, TOOL_CLOCK: [tool('now')] }, vars: { HOLD_CHANGED: 'TOOL_A' } })
  await later.put(ADMIN, 'other', 'x')
  expect([await call(ACME, 'now'), await later.call(ACME, 'now'), await later.call(ACME, 'news')]).toEqual([
    'done',
    'done',
    'of others',
  ])
  const listing = (await later.as(ACME)('/tools')).body.filter(({ name }: { name: string }) => name === 'now')
  expect(listing.map(({ place, available, reason }: Record<string, unknown>) => [place, available, reason])).toEqual([
    ['TOOL_CLOCK', true, undefined],
    ['TOOL_A', false, 'The tool "now" of TOOL_A is held back: TOOL_CLOCK has a tool of this name.'],
  ])
  expect((await as(ACME)('/tools/greet')).status).toBe(200)
})

test('a name that a tool server brings later takes the place of no stored tool', async () => {
  const tools: ReturnType<typeof tool>[] = []
  const { put, call, as } = stage({ workers: { TOOL_MCP: tools } })
  await put(ADMIN, 'hours', 'nine to five')
  await put(ACME, 'greet', 'hello')
  tools.push(
    tool('hours', () => 'never'),
    tool('greet', () => 'goodbye'),
  )
  expect([await call(ACME, 'hours'), await call(ACME, 'greet')]).toEqual(['nine to five', 'hello'])
  expect((await as(ACME)('/tools/hours')).body.place).toBe('tool:hours')
})

test('a name that a tool server brings takes the place of no tool of a Worker that cannot be described', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  let isDown = true
  const own = [tool('now')]
  const clock = {
    describe: async () => {
      if (isDown) throw new Error('out of order')
      return { contract: 1, tools: own.map(({ definition }) => definition) }
    },
    call: async () => ({ ok: true, content: [{ type: 'text', text: 'own' }] }),
  }
  const tools = ['now', 'news'].map((name) => tool(name, () => 'of others', { hash: `other-${name}` }))
  const { call, as } = stage({ workers: { TOOL_MCP: tools }, vars: { TOOL_CLOCK: clock } })
  const calls = async () => [await call(ACME, 'now'), await call(ACME, 'news')]
  const passTime = () => vi.setSystemTime(Date.now() + 61_000)
  // What the Worker has is not known yet.
  expect(await calls()).toEqual([404, 404])
  const listing = (await as(ACME)('/tools?source=service')).body
  expect(listing.map(({ place, name, available, reason }: any) => [place, name, available, reason])).toEqual([
    ['TOOL_CLOCK', 'TOOL_CLOCK', false, 'it failed to describe itself'],
    ...['news', 'now'].map((name) => [
      'TOOL_MCP',
      name,
      false,
      `The tool "${name}" of TOOL_MCP is held back: TOOL_CLOCK may have a tool of this name, and cannot be described now.`,
    ]),
  ])
  isDown = false
  passTime()
  expect(await calls()).toEqual(['own', 'of others'])
  isDown = true
  passTime()
  expect(await calls()).toEqual([404, 'of others'])
  const run = await as(ACME)('/runs', { json: { input: 'Hi', tools: ['now'] } })
  expect([run.status, run.body.code]).toEqual([400, 'unknown_tool'])
  vi.useRealTimers()
})

test('data that a caller brings with an answer names no items that the account of the operator stores', async () => {
  const { as, requests } = stage({ script: [say('Hi.')] })
  const openai = { itemId: 'rs_of_another', reasoningEncryptedContent: 'gAAA' }
  const opaque = { codec: 'ai-sdk', data: [{ reasoning: 0, data: { openai, azure: [{ item_id: 'msg_1' }] } }] }
  const reasoning = {
    ...{ id: 'rs_1', type: 'reasoning', summary: [] },
    encrypted_content: `edgecall.${btoa(JSON.stringify(opaque))}`,
  }
  const input = [
    { role: 'user', content: 'Hello' },
    reasoning,
    { role: 'assistant', content: 'Hello.' },
    { role: 'user', content: 'What did the other one think?' },
  ]
  const { status } = await as(ACME)('/v1/responses', { json: { input, store: false } })
  expect(status).toBe(200)
  const part = { reasoning: 0, data: { openai: { reasoningEncryptedContent: 'gAAA' }, azure: [{}] } }
  expect(requests[0]?.messages.filter(({ role }) => role === 'assistant')).toEqual([
    { role: 'assistant', content: 'Hello.', opaque: { codec: 'ai-sdk', data: [part] } },
  ])
})

test('a tenant may take the name of a tool that is hidden from it, and no rule for that name is for its own', async () => {
  const hidden = { '@TOOL_CLOCK': { tenants: ['ops'] } }
  const { put, call, names } = stage({ vars: { TOOL_POLICY: hidden } })
  expect([await names(ACME), await names(ADMIN)]).toEqual([[], ['now']])
  expect((await put(ACME, 'now', 'hello')).status).toBe(201)
  expect([await call(ACME, 'now'), await call(ADMIN, 'now'), await call(GLOBEX, 'now')]).toEqual(['hello', 'done', 404])
  const answers: Record<string, unknown> = {}
  for (const key of ['now', 'n*', '*', '@tenant:*', '@tenant:acme/now']) {
    const ruled = stage({ vars: { TOOL_POLICY: { ...hidden, [key]: { scopes: ['finance'] } } } })
    await ruled.put(ACME, 'now', 'hello')
    answers[key] = await ruled.call(ACME, 'now')
  }
  expect(answers).toEqual({ now: 'hello', 'n*': 'hello', '*': 404, '@tenant:*': 404, '@tenant:acme/now': 404 })
  // The operator's own tool comes first where it is seen.
  const open = stage()
  await open.put(ACME, 'now', 'hello')
  expect(await open.call(ACME, 'now')).toBe('done')
})
