import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import type { Message } from '../../../src/contract/message.ts'
import { failure } from '../../../src/contract/tool.ts'
import { spans } from '../../fixtures/spans.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { type Row, same } from '../rows.ts'
import { chat, chatStream, QUESTION, resultsIn } from '../scene.ts'
import { COMPAT } from './scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const SUM = ask(['add', { a: 1, b: 2 }])

/** Asks the model once more, at most twice, while its answer in words does not please. */
function guardrail(wish: (text: string) => string | undefined, judged: string[] = []): Hook {
  return {
    name: 'guardrail',
    step: async (request, next) => {
      let answer = await next(request)
      for (let tries = 0; tries < 2 && answer.calls.length === 0; tries++) {
        judged.push(answer.text)
        const wanted = wish(answer.text)
        if (wanted === undefined) break
        const nextMessages: Message[] = [
          { role: 'assistant', content: answer.text },
          { role: 'user', content: wanted },
        ]
        answer = await next({ ...request, messages: [...request.messages, ...nextMessages] })
      }
      return answer
    },
  }
}

const inCapitals = (text: string) => (text === text.toUpperCase() ? undefined : 'In capitals, please')

/** Rows 94 and 95: who watches a run, and who judges its answers. */
export const watch: readonly Row[] = [
  {
    row: 94,
    says: 'listeners are told of start, requests, answers, calls and end, in order, with the same context; streamed too',
    verdict: same(async () => {
      for (const ways of [chat, chatStream]) {
        const entries: [string, string][] = []
        const names: string[] = []
        const trace = spans(({ name }) => names.push(name))
        await ways({
          script: [SUM, say('3')],
          tools: [add],
          setup: {
            loop: {
              observe: (event, run) => {
                entries.push([event.type, run.runId])
                trace(event, run)
              },
            },
          },
        })
        expect(entries.map(([type]) => type)).toEqual([
          'run.started',
          'step.started',
          'step.answered',
          'call.started',
          'call.settled',
          'step.finished',
          'step.started',
          'step.answered',
          'step.finished',
          'run.finished',
        ])
        expect(new Set(entries.map(([, runId]) => runId)).size).toBe(1)
        expect(names).toEqual([
          'chat scripted',
          'execute_tool add',
          'step 1',
          'chat scripted',
          'step 2',
          'invoke_agent',
        ])
      }
    }),
  },
  {
    row: 95,
    says: 'a guardrail judges answers in words alone; asked again, the model may call tools first, which may fail',
    verdict: same(async () => {
      const broken = tool('broken', () => failure('gone', 'It is gone'))
      for (const ways of [chat, chatStream]) {
        const judged: string[] = []
        const settled: string[] = []
        const { requests, ...said } = await ways({
          script: [say('three'), ask(['add', { a: 1, b: 2 }], ['broken']), say('it is 3'), say('IT IS 3')],
          tools: [add, broken],
          vars: COMPAT,
          setup: {
            loop: {
              hooks: [guardrail(inCapitals, judged)],
              observe: (event) => {
                if (event.type === 'call.settled') settled.push(`${event.tool} ${event.ok}`)
              },
            },
          },
        })
        expect([judged, settled]).toEqual([
          ['three', 'it is 3', 'IT IS 3'],
          ['add true', 'broken false'],
        ])
        expect(resultsIn(requests[2]?.messages)).toEqual(['3', 'It is gone'])
        expect(requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'In capitals, please' })
        expect('answer' in said ? said.answer : said.texts.at(-1)).toContain('IT IS 3')
      }
      const { requests } = await play({
        script: [say('a'), say('b'), say('c')],
        request: { input: [QUESTION] },
        loop: { hooks: [guardrail(inCapitals)] },
      })
      expect(requests).toHaveLength(3)
    }),
  },
]
