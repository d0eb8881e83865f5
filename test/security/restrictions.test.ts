import { describe, expect, test } from 'vitest'
import { agentSource } from '../../src/loop/agent.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { scripted } from '../fixtures/scripted.ts'
import { controlledEdge, type ControlledEdgeOptions } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'
const LOW = 'low: chat'

/** An edge with a tool that nobody is to be offered unasked, and what its model is offered. */
function edgeWith(options: Partial<ControlledEdgeOptions> = {}) {
  const edge = controlledEdge({
    workers: { TOOL_SHOP: [tool('supplier'), tool('price'), tool('files_x2e_read')] },
    keys: [KEY, LOW],
    script: Array.from({ length: 9 }, () => say('ok')),
    ...options,
  })
  return { ...edge, offers: () => edge.requests.at(-1)?.tools.map(({ name }) => name) }
}

const messages = [{ role: 'user', content: 'Go' }]
/** The requests that start a run, each with a selection of tools. */
const WAYS: Readonly<Record<string, (tools: object) => readonly [path: string, body: object]>> = {
  '/runs': (tools) => ['/runs', { input: 'Go', tools }],
  '/v1/chat/completions': (tools) => [
    '/v1/chat/completions',
    { messages, model: 'test/scripted', edgecall: { tools } },
  ],
  '/v1/responses': (tools) => ['/v1/responses', { input: 'Go', model: 'test/scripted', edgecall: { tools } }],
  '/v1/messages': (tools) => [
    '/v1/messages',
    { messages, model: 'test/scripted', max_tokens: 99, edgecall: { tools } },
  ],
}

describe.each(Object.entries(WAYS))('tools that a request removes (%s)', (_, way) => {
  const send = async (tools: object, options?: Partial<ControlledEdgeOptions>) => {
    const edge = edgeWith(options)
    const [path, json] = way(tools)
    const { status, body } = await edge.as(KEY)(path, { json })
    return { status, body: JSON.stringify(body), offers: edge.offers() }
  }

  test('are not on offer, under each of their names, also where they are added', async () => {
    expect((await send({ remove: ['supplier'] })).offers).toEqual(['price', 'files_x2e_read'])
    expect((await send({ add: ['supplier'], remove: ['supplier'] })).offers).toEqual(['price', 'files_x2e_read'])
    expect((await send({ remove: ['files.read'] })).offers).toEqual(['supplier', 'price'])
  })

  test.each([['suplier'], ['Supplier'], ['supp*'], ['run_code']])(
    'are refused by a name that no tool has: %s',
    async (name) => {
      const { status, body, offers } = await send({ remove: ['price', name] })
      expect([status, offers]).toEqual([400, undefined])
      expect(body).toContain(`There is no tool \\"${name}\\" at this edge.`)
    },
  )

  test('are refused by the name of a tool that the caller may not know of', async () => {
    const vars = { TOOL_POLICY: JSON.stringify({ price: { scopes: ['prices'] } }) }
    const { status, body } = await send({ remove: ['price'] }, { vars })
    expect([status, body.includes('There is no tool \\"price\\" at this edge.')]).toEqual([400, true])
  })
})

describe('while a tool Worker does not describe itself, and has not before', () => {
  test('a name that no other tool has is answered 503, and all other names count', async () => {
    const lost = { describe: async () => Promise.reject(new Error('lost')), call: async () => ({}) }
    const edge = edgeWith({ vars: { TOOL_BANK: lost } })
    const run = async (remove: readonly string[]) => {
      const { status, body, headers } = await edge.as(KEY)('/runs', { json: { input: 'Go', tools: { remove } } })
      return [status, body.error?.code ?? body.code, headers.get('retry-after')]
    }
    expect(await run(['supplier'])).toEqual([200, undefined, null])
    expect(edge.offers()).toEqual(['price', 'files_x2e_read'])
    expect(await run(['suplier'])).toEqual([503, 'tools_unavailable', '5'])
  })
})

test('a limit on a tool that no tool is called by is refused', async () => {
  const edge = edgeWith()
  const run = (name: string) => edge.as(KEY)('/runs', { json: { input: 'Go', limits: { tools: { [name]: 1 } } } })
  const names = ['supplier', 'files.read', 'run_code', 'suplier', '*']
  const answers = await Promise.all(names.map(run))
  expect(answers.map(({ status, body }) => [status, body.error?.param ?? body.param])).toEqual([
    [200, undefined],
    [200, undefined],
    [200, undefined],
    [400, 'limits.tools'],
    [400, 'limits.tools'],
  ])
})

describe('tools that the edge itself removes', () => {
  test('may be hidden from a caller, but must have their names', async () => {
    const vars = { TOOL_POLICY: JSON.stringify({ price: { scopes: ['prices'] } }) }
    const run = async (name: string) => {
      const edge = edgeWith({ vars, change: (setup) => ({ ...setup, toolsOf: () => ({ remove: [name] }) }) })
      const { status } = await edge.as(KEY)('/runs', { json: { input: 'Go' } })
      return [status, edge.offers()]
    }
    expect(await run('price')).toEqual([200, ['supplier', 'files_x2e_read']])
    expect(await run('pryce')).toEqual([400, undefined])
  })

  test.each([
    ['supplier', [['price', 'files_x2e_read']], 'ok'],
    ['suplier', [], 'cannot be asked: its tools are not as they should be.'],
  ])('from an agent: %s', async (name, offers, text) => {
    const model = scripted([ask(['buyer', { question: 'Buy?' }]), say('ok'), say('done')], 'test/scripted')
    const agent = {
      name: 'buyer',
      description: 'Buys.',
      instructions: 'Buy.',
      tools: { remove: [name] },
      durable: false,
    }
    const edge = edgeWith({ model, sources: (setup) => [agentSource([agent], setup)] })
    const { status, body } = await edge.as(KEY)('/runs', { json: { input: 'Go', tools: ['buyer'] } })
    const ofAgent = model.requests.filter(({ messages: [first] }) => JSON.stringify(first).includes('Buy.'))
    expect([status, ofAgent.map(({ tools }) => tools.map((each) => each.name))]).toEqual([200, offers])
    expect(JSON.stringify(body.calls)).toContain(text)
  })
})
