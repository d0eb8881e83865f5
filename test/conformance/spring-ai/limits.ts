import { expect } from 'vitest'
import { readConfig } from '../../../src/contract/config.ts'
import type { Message } from '../../../src/contract/message.ts'
import type { RunRequest } from '../../../src/contract/run.ts'
import { executeToolCalls, type ManualOptions } from '../../../src/loop.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { type Row, same } from '../rows.ts'
import { after, type CallSpec, answerWithCalls, chat, QUESTION, resultsIn } from '../scene.ts'

/** How often `add` and `sub` have run. */
function counted() {
  const ran: string[] = []
  const tools = ['add', 'sub'].map((name) => tool(name, () => String(ran.push(name))))
  return { ran, tools }
}

/** Runs calls after messages with limits, their way. */
async function execute(
  messages: readonly Message[],
  calls: readonly CallSpec[],
  { limits, onLimit = 'fail' }: { limits?: ManualOptions['limits']; onLimit?: RunRequest['onLimit'] } = {},
) {
  const { ran, tools } = counted()
  const request = { compat: 'spring-ai', onLimit } as const
  const { results, error } = await executeToolCalls(
    { messages, tools, request, ...(limits && { limits }) },
    answerWithCalls(...calls),
  )
  return { ran, results: resultsIn(results), error }
}

const OF_ADD = "exceeded for tool 'add'. No further calls to this tool are allowed in this turn."
const OF_ALL = 'exceeded for this turn. No further tool calls are allowed.'

/** Rows 14 to 21: how many calls a turn may have. */
export const limits: readonly Row[] = [
  {
    row: 14,
    says: 'a call over the limit of its tool ends the loop, and what there is so far is told',
    verdict: same(async () => {
      expect(await execute(after('add'), [['add']], { limits: { callsPerTool: 1 } })).toEqual({
        ran: [],
        results: [`Tool call limit (1) ${OF_ADD}`],
        error: { code: 'limit_reached', message: `Tool call limit (1) ${OF_ADD}` },
      })
    }),
  },
  {
    row: 15,
    says: 'a call over the limit may instead be told to the model, and does not run',
    verdict: same(async () => {
      const limits = { callsPerTool: 1 }
      expect(await execute(after('add'), [['add'], ['sub']], { limits, onLimit: 'model' })).toEqual({
        ran: ['sub'],
        results: [`Tool call limit (1) ${OF_ADD}`, '1'],
        error: undefined,
      })
      const { answer, requests } = await chat({
        script: [ask(['add']), ask(['add']), say('Enough')],
        tools: counted().tools,
        vars: { COMPAT: 'spring-ai', ON_LIMIT: 'model', MAX_CALLS_PER_TOOL: '1' },
      })
      expect([answer, resultsIn(requests[2]?.messages)]).toEqual(['Enough', ['1', `Tool call limit (1) ${OF_ADD}`]])
    }),
  },
  {
    row: 16,
    says: 'a tool may be let off the limit of one tool',
    verdict: same(async () => {
      const { answer, json } = await chat({
        script: [ask(['add']), ask(['add']), ask(['add']), say('done')],
        tools: counted().tools,
        vars: { COMPAT: 'spring-ai', MAX_CALLS_PER_TOOL: '{ "*": 1, "add": 1000000 }' },
      })
      expect([answer, json.edgecall.calls.map(({ ok }) => ok)]).toEqual(['done', [true, true, true]])
      // It still counts towards the limit of all.
      const limits = { calls: 2, callsPerTool: 1, tools: { add: 1_000_000 } }
      expect((await execute(after('add', 'add'), [['sub']], { limits })).error?.message).toBe(
        `Total tool call limit (2) ${OF_ALL}`,
      )
    }),
  },
  {
    row: 17,
    says: 'the limit of all calls counts those of other tools',
    verdict: same(async () => {
      expect(await execute(after('sub'), [['add']], { limits: { calls: 1 } })).toEqual({
        ran: [],
        results: [`Total tool call limit (1) ${OF_ALL}`],
        error: { code: 'limit_reached', message: `Total tool call limit (1) ${OF_ALL}` },
      })
      expect(await execute(after('sub'), [['add']], { limits: { calls: 1 }, onLimit: 'model' })).toEqual({
        ran: [],
        results: [`Total tool call limit (1) ${OF_ALL}`],
        error: undefined,
      })
      // Where both are reached, that of the tool is told.
      const both = await execute(after('add'), [['add']], { limits: { calls: 1, callsPerTool: 1 } })
      expect(both.error?.message).toBe(`Tool call limit (1) ${OF_ADD}`)
    }),
  },
  {
    row: 18,
    says: 'unless said otherwise a tool has 40 calls, and a turn 150',
    verdict: same(async () => {
      for (const vars of [{}, { COMPAT: 'spring-ai' }]) {
        expect(readConfig(vars).limits).toMatchObject({ callsPerTool: 40, calls: 150 })
      }
      const adds = (count: number) => Array.from({ length: count }, () => 'add')
      const others = Array.from({ length: 149 }, (_, index) => `other_${index}`)
      expect((await execute(after(...adds(39)), [['add']])).ran).toEqual(['add'])
      expect((await execute(after(...adds(40)), [['add']])).error?.message).toBe(`Tool call limit (40) ${OF_ADD}`)
      expect((await execute(after(...others), [['add']])).ran).toEqual(['add'])
      expect((await execute(after(...others, 'sub'), [['add']])).error?.message).toBe(
        `Total tool call limit (150) ${OF_ALL}`,
      )
    }),
  },
  {
    row: 19,
    says: 'both limits can be lifted',
    verdict: same(async () => {
      const adds = Array.from({ length: 200 }, () => 'add')
      const limits = { callsPerTool: Infinity, calls: Infinity }
      expect(await execute(after(...adds), [['add']], { limits })).toEqual({
        ran: ['add'],
        results: ['1'],
        error: undefined,
      })
    }),
  },
  {
    row: 20,
    says: 'calls before the last question count neither for a tool nor in all',
    verdict: same(async () => {
      const messages: Message[] = [...after('add'), { role: 'assistant', content: 'Done.' }, QUESTION]
      const limits = { callsPerTool: 1, calls: 1 }
      expect((await execute(messages, [['add']], { limits })).ran).toEqual(['add'])
    }),
  },
  {
    row: 21,
    says: 'calls since the last question count, those of the same answer too',
    verdict: same(async () => {
      const messages: Message[] = [...after('sub'), { role: 'assistant', content: 'Done.' }, ...after('add')]
      const limits = { callsPerTool: 2 }
      expect((await execute(messages, [['add'], ['add']], { limits, onLimit: 'model' })).ran).toEqual(['add'])
      expect(await execute(messages, [['add'], ['add'], ['sub']], { limits })).toEqual({
        ran: ['add'],
        results: ['1', `Tool call limit (2) ${OF_ADD}`, 'Not run: a limit of the run was reached before this call.'],
        error: { code: 'limit_reached', message: `Tool call limit (2) ${OF_ADD}` },
      })
    }),
  },
]
