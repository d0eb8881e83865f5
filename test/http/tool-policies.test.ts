import { afterEach, describe, expect, test, vi } from 'vitest'
import { tool } from '../fixtures/play.ts'
import { controlledEdge } from '../security/controlled-edge.ts'

const ADMIN = 'ops: chat tools:read tools:admin'
const READER = 'acme: chat tools:read'
const RATE_BANK = { limit: async () => ({ success: true }) }

const TOOL_POLICY = {
  '@TOOL_BANK': { rate: 'RATE_BANK' },
  pay: { approval: 'always', tenants: ['ops', 'acme'] },
  '#money': { annotations: { private: true, readOnly: true } },
  card: { maxResultBytes: 100 },
}

function bankEdge() {
  return controlledEdge({
    workers: {
      TOOL_BANK: [tool('pay', () => 'paid', { tags: ['money'] }), tool('look', () => 'seen')],
    },
    keys: [ADMIN, READER],
    vars: { TOOL_POLICY, RATE_BANK, TOOL_SEARCH: 'off' },
  })
}

const BANK = { pattern: '@TOOL_BANK', policy: { rate: 'RATE_BANK' } }
const OF_PAY = [
  BANK,
  { pattern: 'pay', policy: { approval: 'always', tenants: ['ops', 'acme'] } },
  // A tag loosens nothing, so `readOnly` has no effect.
  { pattern: '#money', policy: { annotations: { private: true } } },
]

afterEach(() => void vi.useRealTimers())

describe('GET /tools/{name}', () => {
  test.each([
    ['all that match it, in their order', 'pay', OF_PAY],
    ['those of its binding', 'look', [BANK]],
  ])('returns the policies that hold for a tool: %s', async (_, name, policies) => {
    const { status, body } = await bankEdge().as(ADMIN)(`/tools/${name}`)
    expect([status, body.policies]).toEqual([200, policies])
  })

  test('returns for an alias its own policies and those of the tool behind it', async () => {
    const edge = bankEdge()
    const alias = { description: 'Pays.', inputSchema: { type: 'object' }, binding: 'TOOL_BANK', call: 'pay' }
    expect((await edge.as(ADMIN)('/tools/card', { method: 'PUT', json: alias })).status).toBe(201)
    const { body } = await edge.as(ADMIN)('/tools/card')
    expect(body.policies).toEqual([
      { pattern: 'card', policy: { maxResultBytes: 100 } },
      ...OF_PAY.map((each) => ({ ...each, tool: 'pay' })),
    ])
  })

  test('returns the policies of a tool that is held back', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const bank = [tool('pay', () => 'paid', { tags: ['money'] })]
    const edge = controlledEdge({
      workers: { TOOL_BANK: bank },
      keys: [ADMIN],
      vars: { TOOL_POLICY, RATE_BANK, HOLD_CHANGED: 'TOOL_BANK', TOOL_SEARCH: 'off' },
    })
    await edge.as(ADMIN)('/tools')
    bank.splice(
      0,
      1,
      tool('pay', () => 'paid', { tags: ['money'], description: 'Another.', hash: 'another' }),
    )
    vi.setSystemTime(Date.now() + 61_000)
    const { body } = await edge.as(ADMIN)('/tools/pay')
    expect([body.available, body.policies]).toEqual([false, OF_PAY])
  })

  test('returns no policies to a key without the scope tools:admin', async () => {
    const { status, body } = await bankEdge().as(READER)('/tools/pay')
    expect([status, body.name, 'policies' in body]).toEqual([200, 'pay', false])
  })

  test('returns no policies where none matches, and none in a list of tools', async () => {
    const edge = controlledEdge({
      workers: { TOOL_BANK: [tool('look', () => 'seen')] },
      keys: [ADMIN],
      vars: { TOOL_SEARCH: 'off' },
    })
    expect((await edge.as(ADMIN)('/tools/look')).body.policies).toEqual([])
    expect((await edge.as(ADMIN)('/tools')).body.filter((each: object) => 'policies' in each)).toEqual([])
  })
})
