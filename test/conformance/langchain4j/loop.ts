import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import type { Message } from '../../../src/contract/message.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, costing, native, resultsIn } from '../scene.ts'
import { COMPAT } from './scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))

/** Tools that note how many of them run at once. */
function counting() {
  let now = 0
  let most = 0
  const run = async () => {
    most = Math.max(most, ++now)
    await new Promise((resolve) => setImmediate(resolve))
    now -= 1
    return 'done'
  }
  return { tools: [tool('a', run), tool('b', run)], most: () => most }
}

/** Rows 39 to 41: a question, the calls that it takes, and the answer. */
export const loop: readonly Row[] = [
  {
    row: 39,
    says: 'a tool runs, then the model answers: two requests, four messages, and hooks before and after the call',
    verdict: same(async () => {
      const edge = keptEdge({ script: [ask(['add', { a: 1, b: 2 }]), say('It is 3')], tools: [add] })
      await edge.post('/conversations', { id: 'c' })
      const run = await (await edge.post('/conversations/c/runs', { input: 'Add' })).json()
      const stored = (await (await edge.fetch('/conversations/c/messages')).json()) as { message: Message }[]
      expect(run).toMatchObject({ status: 'completed', answer: 'It is 3', steps: 2 })
      expect(edge.requests).toHaveLength(2)
      expect(stored.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
      const trace: unknown[] = []
      const hook: Hook = {
        name: 'trace',
        call: async (request, next) => {
          trace.push(request.arguments)
          const outcome = await next(request)
          trace.push(outcome)
          return outcome
        },
      }
      await play({ script: [ask(['add', { a: 1, b: 2 }]), say('3')], tools: [add], loop: { hooks: [hook] } })
      expect(trace).toEqual([
        { a: 1, b: 2 },
        { ok: true, content: [{ type: 'text', text: '3' }] },
      ])
    }),
  },
  {
    row: 40,
    says: 'calls one after the other, or several in one answer: usage is summed, results come as one batch',
    verdict: same(async () => {
      const used = { inputTokens: 10, outputTokens: 2 }
      const [one, two] = [ask(['add', { a: 1, b: 1 }]), ask(['add', { a: 2, b: 2 }])]
      const both = ask(['add', { a: 1, b: 1 }], ['add', { a: 2, b: 2 }])
      const scripts = [
        [one, two, say('2 and 4')],
        [both, say('2 and 4')],
      ]
      for (const script of scripts) {
        const { answer, json, requests } = await chat({
          script: script.map((step) => costing(step, used)),
          tools: [add],
        })
        expect([answer, resultsIn(requests.at(-1)?.messages)]).toEqual(['2 and 4', ['2', '4']])
        expect(json.usage).toMatchObject({
          prompt_tokens: 10 * script.length,
          completion_tokens: 2 * script.length,
          total_tokens: 12 * script.length,
        })
      }
      const { requests } = await chat({ script: scripts[1] ?? [], tools: [add] })
      expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool'])
    }),
  },
  {
    row: 41,
    says: 'calls of one answer run at once where that was asked for, and one by one where not',
    verdict: different('at once unless told otherwise; one by one under COMPAT=langchain4j', async () => {
      const script = [ask(['a'], ['b']), say('done')]
      const both = counting()
      await chat({ script, tools: both.tools })
      expect(both.most()).toBe(2)
      const theirs = counting()
      await chat({ script, tools: theirs.tools, vars: COMPAT })
      expect(theirs.most()).toBe(1)
      const counter = counting()
      await native({ script, tools: counter.tools, vars: { ...COMPAT, MAX_CONCURRENT_CALLS: '8' } })
      expect(counter.most()).toBe(2)
    }),
  },
]
