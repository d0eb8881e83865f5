import type { ModelRequest } from '../../src/contract/model.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { searchHook } from '../../src/search/hook.ts'
import { ask, play, say, tool } from '../fixtures/play.ts'
import { manyQuestions, manyTools } from './many-tools.ts'
import { median } from './statistics.ts'

const ROUNDS = 7

/** What an index and a query cost, and what a run of a thousand tools sends with search and without. */
export async function benchSearch(): Promise<void> {
  const tools = manyTools(4000)
  const questions = manyQuestions(300)
  const indexing: number[] = []
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const index = createKeywordIndex()
    const before = process.threadCpuUsage()
    await index.add(tools)
    // The first search reads what was added.
    await index.search('nothing', 1)
    const { user, system } = process.threadCpuUsage(before)
    indexing.push((user + system) / 1000)
    for (const question of questions) {
      const start = performance.now()
      await index.search(question, 5)
      times.push(performance.now() - start)
    }
  }
  const [first = 0, ...rest] = indexing
  tell(
    '4,000 tools indexed',
    `${first.toFixed(0)} ms CPU in a new isolate, ${median(rest).toFixed(0)} once it is compiled (goal: 150)`,
  )
  tell('a query among 4,000 tools', `${median(times).toFixed(2)} ms at the median (goal: 2)`)
  for (const count of [10, 40, 100, 1000]) {
    const [all, searching] = [await measureRequest(count, false), await measureRequest(count, true)]
    const share = `${((100 * searching) / all).toFixed(1)} % of ${all.toLocaleString('en')} bytes with search`
    tell(`definitions of a run with ${count}`, `${share}${count === 1000 ? ' (goal: 2 %)' : ''}`)
  }
}

/** Bytes of the definitions in all requests of a run that calls one tool and answers. */
async function measureRequest(count: number, withSearch: boolean): Promise<number> {
  const tools = manyTools(count).map((definition) => tool(definition.name, () => 'done', definition))
  const wanted = tools[count / 2]?.definition.name ?? ''
  const words = wanted.replaceAll('_', ' ')
  const script = [...(withSearch ? [ask(['tool_search', { query: words }])] : []), ask([wanted]), say('Done.')]
  const { requests, state } = await play({
    script,
    tools,
    ...(withSearch && { loop: { hooks: [searchHook({ when: 'on' })] } }),
  })
  if (state.calls.at(-1)?.result?.ok !== true) throw new Error(`${wanted} was not called`)
  return requests.reduce((sum, request: ModelRequest) => sum + JSON.stringify(request.tools).length, 0)
}

function tell(what: string, figure: string): void {
  console.log(`${what.padEnd(34)} ${figure}`)
}
