import { expect, test } from 'vitest'
import type { ListPage, Tool, ToolSource } from '../../../src/contract/tool.ts'
import { applyPolicies } from '../../../src/host/policy/source.ts'
import { tool } from '../../fixtures/play.ts'

const all = ['a', 'b', 'pay'].map((name) => tool(name))
const page: ListPage = { after: '', limit: 2 }

/** A source that has pages, and the pages that it was asked for. */
function paged(tools: readonly Tool[]) {
  const asked: (ListPage | undefined)[] = []
  const source: ToolSource = {
    find: async () => [],
    offered: async () => [],
    list: async (page) => {
      asked.push(page)
      return { tools: tools.slice(0, page?.limit), unavailable: [], ...(page && { total: tools.length }) }
    },
  }
  return { asked, source }
}

const policies = { pay: { scopes: ['finance'] }, 'a*': { timeoutMs: 10 } }

test('of a source with pages no more is read than a page, for who may know of all tools', async () => {
  const { asked, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: ['finance'] }).list(page)
  expect(listing.tools.map(({ definition }) => [definition.name, definition.timeoutMs])).toEqual([
    ['a', 10],
    ['b', undefined],
  ])
  expect([listing.total, asked]).toEqual([3, [page]])
})

test('and all of it for others: what is hidden is on no page, and not counted', async () => {
  const { asked, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: [] }).list(page)
  expect(listing.tools.map(({ definition }) => definition.name)).toEqual(['a', 'b'])
  expect([listing.total, asked]).toEqual([undefined, [undefined]])
})
