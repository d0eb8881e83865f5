import * as v from 'valibot'
import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import { defineTool } from '../../../src/tool.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, notApplicable, type Row, same } from '../rows.ts'
import { carried, chat, chatStream, costing, resultsIn } from '../scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const direct = tool('answer', () => '42', { returnDirect: 'always' })
const sum = ask(['add', { a: 1, b: 2 }])

const usage = (inputTokens: number, outputTokens: number, cachedInputTokens?: number) => {
  return { inputTokens, outputTokens, ...(cachedInputTokens !== undefined && { cachedInputTokens }) }
}

/** Usage as Chat Completions says it. */
const usageOf = (input: number, output: number, cached = 0) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: 0 },
})

/** Rows 43 to 52: the loop of one run. */
export const loop: readonly Row[] = [
  {
    row: 43,
    says: 'what stands around the loop has an order',
    verdict: different('it is that of a list, so that no number can be out of range', async () => {
      const trace: string[] = []
      const hook = (name: string): Hook => ({
        name,
        run: async (next) => {
          trace.push(`${name} in`)
          await next()
          trace.push(`${name} out`)
        },
      })
      await play({ script: [say('hi')], loop: { hooks: [hook('first'), hook('second')] } })
      expect(trace).toEqual(['first in', 'second in', 'second out', 'first out'])
    }),
  },
  {
    row: 44,
    says: 'the advisor that loops has a name and a number of its own',
    verdict: notApplicable('the loop is no link of a chain that others could be put around by number'),
  },
  {
    row: 45,
    says: 'without tools a request passes through',
    verdict: same(async () => {
      const scene = { script: [say('Hello yourself')], body: { temperature: 0 } }
      const result = await chat(scene)
      const stream = await chatStream(scene)
      const patience = { firstByteMs: 30_000, silenceMs: 60_000 }
      const messages = [{ role: 'user', content: 'Hello' }]
      const request = { messages, tools: [], sampling: { temperature: 0 }, patience }
      expect([result.answer, result.requests]).toEqual(['Hello yourself', [request]])
      expect([stream.texts.join(''), stream.requests]).toEqual(['Hello yourself', [request]])
    }),
  },
  {
    row: 46,
    says: 'an answer without calls is asked for once, and nothing runs',
    verdict: different(
      'where the model answers nothing at all, the run fails instead of answering nothing',
      async () => {
        const { json, answer, requests } = await chat({ script: [say('hi')], tools: [add] })
        expect([answer, json.edgecall.calls, requests.length]).toEqual(['hi', [], 1])
        const silent = await chat({ script: [[]], tools: [add] })
        expect([silent.status, silent.json.error]).toEqual([
          502,
          {
            message: 'The model test/scripted ended its stream without a finish.',
            type: 'server_error',
            param: null,
            code: 'model_stream_cut',
          },
        ])
      },
    ),
  },
  {
    row: 47,
    says: 'each round of calls is one more question to the model',
    verdict: same(async () => {
      const once = await chat({ script: [sum, say('3')], tools: [add] })
      expect([once.answer, once.requests.length, once.json.edgecall.steps]).toEqual(['3', 2, 2])
      const twice = await chat({ script: [sum, ask(['add', { a: 3, b: 3 }]), say('6')], tools: [add] })
      expect([twice.answer, twice.requests.length]).toEqual(['6', 3])
      expect(resultsIn(twice.requests[2]?.messages)).toEqual(['3', '6'])
    }),
  },
  {
    row: 48,
    says: 'a result that returns directly is the answer, and the model is not asked again',
    verdict: same(async () => {
      const { answer, json, requests } = await chat({ script: [ask(['answer'])], tools: [direct] })
      expect([answer, json.choices[0].finish_reason, json.edgecall.finish]).toEqual(['42', 'stop', 'return_direct'])
      expect([requests.length, json.edgecall.calls.length]).toEqual([1, 1])
      const run = () => 'It shines'
      const tools = await carried(
        defineTool({ name: 'sun', description: 'Sun', input: v.object({}), returnDirect: 'always', run }),
      )
      const theirs = await chat({ script: [ask(['sun'])], tools, vars: { COMPAT: 'spring-ai' } })
      expect(theirs.answer).toBe('"It shines"')
    }),
  },
  {
    row: 49,
    says: 'calls may be handed to the caller instead of being run, by a rule of the application',
    verdict: same(async () => {
      const scene = { script: [sum], tools: [add], body: { edgecall: { execution: 'caller' } } }
      const call = { type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
      const result = await chat(scene)
      expect(result.json.choices[0]).toMatchObject({ message: { tool_calls: [call] }, finish_reason: 'tool_calls' })
      expect(result.json.edgecall.calls).toEqual([])
      const { chunks } = await chatStream(scene)
      expect(chunks.flatMap(({ choices }) => choices?.[0]?.delta.tool_calls ?? [])).toMatchObject([
        { index: 0, ...call },
      ])
      expect(chunks.at(-1)?.choices?.[0]?.finish_reason).toBe('tool_calls')
      const { state } = await play({ script: [sum], tools: [add], loop: { runsCalls: () => false } })
      expect([state.finished?.finish, state.calls.map(({ status }) => status)]).toEqual([
        'tool_calls',
        ['awaiting_caller'],
      ])
    }),
  },
  {
    row: 50,
    says: 'that rule may have calls run',
    verdict: different('it is not asked of an answer without calls, in which there is nothing to run', async () => {
      const receivedRequests: number[] = []
      const { state } = await play({
        script: [sum, say('3')],
        tools: [add],
        request: { execution: 'caller' },
        loop: {
          runsCalls: ({ calls }) => {
            receivedRequests.push(calls.length)
            return true
          },
        },
      })
      expect([state.finished?.answer, receivedRequests]).toEqual(['3', [1]])
    }),
  },
  {
    row: 51,
    says: 'usage is that of all rounds together',
    verdict: same(async () => {
      const { json } = await chat({
        script: [costing(sum, usage(10, 20)), costing(say('3'), usage(1, 2))],
        tools: [add],
      })
      expect(json.usage).toEqual(usageOf(11, 22))
    }),
  },
  {
    row: 52,
    says: 'so are the counts of the cache; of one round, and of a direct answer, it is what was said',
    verdict: same(async () => {
      const cached = await chat({
        script: [costing(sum, usage(10, 20, 4)), costing(say('3'), usage(1, 2, 1))],
        tools: [add],
      })
      expect(cached.json.usage).toEqual(usageOf(11, 22, 5))
      const once = await chat({ script: [costing(say('hi'), usage(7, 8, 6))] })
      expect(once.json.usage).toEqual(usageOf(7, 8, 6))
      const returned = await chat({
        script: [costing(sum, usage(10, 20)), costing(ask(['answer']), usage(1, 2))],
        tools: [add, direct],
      })
      expect([returned.answer, returned.json.usage]).toEqual(['42', usageOf(11, 22)])
    }),
  },
]
