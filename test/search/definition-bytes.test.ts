import { expect, test } from 'vitest'
import { searchHook } from '../../src/search/hook.ts'
import { manyTools } from '../bench/many-tools.ts'
import { ask, play, say, tool } from '../fixtures/play.ts'

const TOOLS = manyTools(1000)
const WANTED = TOOLS[500]?.name ?? ''

/** Bytes of the definitions in each request of a run that calls one tool of a thousand and answers. */
async function measureRequests(withSearch: boolean): Promise<readonly number[]> {
  const call = [ask([WANTED]), say('Done.')]
  const { requests, state } = await play({
    script: withSearch ? [ask(['tool_search', { query: WANTED.replaceAll('_', ' ') }]), ...call] : call,
    tools: TOOLS.map((definition) => tool(definition.name, () => 'done', definition)),
    ...(withSearch && { loop: { hooks: [searchHook()] } }),
  })
  expect(state.calls.at(-1)).toMatchObject({ tool: WANTED, result: { ok: true } })
  return requests.map(({ tools }) => Buffer.byteLength(JSON.stringify(tools)))
}

const sum = (bytes: readonly number[]) => bytes.reduce((all, some) => all + some, 0)

test('a run with a thousand tools sends at most 2 % of their definitions if it searches, including the extra step', async () => {
  const [all, searching] = [await measureRequests(false), await measureRequests(true)]
  expect([all.length, searching.length]).toEqual([2, 3])
  expect(searching[0]).toBeLessThan(0.002 * (all[0] ?? 0))
  expect(sum(searching)).toBeLessThan(0.02 * sum(all))
})
