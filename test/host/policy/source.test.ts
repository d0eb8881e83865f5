import { expect, test } from 'vitest'
import type { ListPage, Tool, ToolContext, ToolSource } from '../../../src/contract/tool.ts'
import { applyPolicies } from '../../../src/host/policy/apply.ts'
import { tool } from '../../fixtures/play.ts'
import { CONTROL, toolRequest } from '../source/calls.ts'

const all = ['a', 'b', 'pay'].map((name) => tool(name))
const page: ListPage = { after: '', limit: 2 }

/** A source that has pages, and the pages that it was asked for. */
function paged(tools: readonly Tool[]) {
  const requests: (ListPage | undefined)[] = []
  const source: ToolSource = {
    find: async () => [],
    offered: async () => [],
    list: async (page) => {
      requests.push(page)
      return { tools: tools.slice(0, page?.limit), unavailable: [], ...(page && { total: tools.length }) }
    },
  }
  return { requests, source }
}

const policies = { pay: { scopes: ['finance'] }, 'a*': { timeoutMs: 10 } }

test('for a caller that may see all tools, a page of a source reads only that page', async () => {
  const { requests, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: ['finance'] }).list(page)
  expect(listing.tools.map(({ definition }) => [definition.name, definition.timeoutMs])).toEqual([
    ['a', 10],
    ['b', undefined],
  ])
  expect([listing.total, requests]).toEqual([3, [page]])
})

test('for other callers, hidden tools are on no page and are not counted', async () => {
  const { requests, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: [] }).list(page)
  expect(listing.tools.map(({ definition }) => definition.name)).toEqual(['a', 'b'])
  expect([listing.total, requests]).toEqual([undefined, [undefined]])
})

/** Calls the one tool of a source under policies, and returns the outcome. */
async function callUnder(options: Parameters<typeof applyPolicies>[1], only: Tool, context: Partial<ToolContext> = {}) {
  const caller = { tenant: 't', scopes: [] }
  const source: ToolSource = { ...paged([]).source, find: async () => [only] }
  const [matches] = await applyPolicies(source, options)(caller).find(['pay'])
  return matches?.call(toolRequest('pay', {}, { hash: 'hash-pay', caller, ...context }), CONTROL)
}

test('a call is refused if the binding of its rate is missing', async () => {
  const limited = { policies: { pay: { rate: 'RATE_PAY' } } }
  const limit = async () => ({ success: true })
  expect(await callUnder({ ...limited, rates: { RATE_PAY: { limit } } }, tool('pay'))).toMatchObject({ ok: true })
  expect(await callUnder({ ...limited, rates: {} }, tool('pay'))).toMatchObject({ error: { code: 'rate_limited' } })
})

test('the policies of the edge go with the calls of a tool that calls further tools', async () => {
  const received: unknown[] = []
  const keep = (_: unknown, context: ToolContext) => void received.push(context.policies)
  const earlier = { 'a*': { timeoutMs: 5 }, mail: { scopes: ['mail'] } }
  await callUnder({ policies, rates: {} }, tool('b', keep, { callsTools: true }), { policies: earlier })
  await callUnder({ policies, rates: {} }, tool('b', keep), { policies: earlier })
  expect(received).toEqual([{ ...policies, ...earlier }, earlier])
})
