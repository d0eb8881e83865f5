import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, chatStream, costing, edgeWith, namesIn, resultsIn } from '../scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const sum = ask(['add', { a: 1, b: 2 }])
const injected = tool('injected', () => 'from inside')

/** A tool that tells how often it has run. */
function counting() {
  let runs = 0
  return { tool: tool('add', () => ++runs), runs: () => runs }
}

/** Rows 61 to 71: what an application puts around the loop, and in its place. */
export const hooks: readonly Row[] = [
  {
    row: 61,
    says: 'hooks stand around the run once, and around each round',
    verdict: same(async () => {
      const trace: string[] = []
      const hook: Hook = {
        name: 'trace',
        run: async (next) => {
          trace.push('begin')
          await next()
          trace.push('end')
        },
        step: async (request, next, { step }) => {
          trace.push(`before ${step}`)
          const answer = await next(request)
          trace.push(`after ${step}: ${answer.finish}`)
          return answer
        },
      }
      await play({ script: [sum, say('3')], tools: [add], loop: { hooks: [hook] } })
      expect(trace).toEqual(['begin', 'before 1', 'after 1: tool_calls', 'before 2', 'after 2: stop', 'end'])
    }),
  },
  {
    row: 62,
    says: 'a tool that a hook adds before a round can be called in it',
    verdict: same(async () => {
      const hook: Hook = { name: 'adds', activate: (names, { step }) => (step === 0 ? [...names, 'injected'] : names) }
      const { requests, state } = await play({
        script: [ask(['injected']), say('done')],
        tools: [add],
        others: [injected],
        loop: { hooks: [hook] },
      })
      expect(requests.map(namesIn)).toEqual([
        ['add', 'injected'],
        ['add', 'injected'],
      ])
      expect(resultsIn(state.messages)).toEqual(['from inside'])
    }),
  },
  {
    row: 63,
    says: 'usage adds up, whatever a round leaves out of it',
    verdict: same(async () => {
      const totals = async (...rounds: readonly Parameters<typeof costing>[1][]) => {
        const script = rounds.map((usage, index) => costing(index < rounds.length - 1 ? sum : say('3'), usage))
        return (await play({ script, tools: [add] })).state.usage
      }
      const plain = { inputTokens: 10, outputTokens: 20 }
      const cached = { ...plain, cachedInputTokens: 4 }
      const reasoned = { ...plain, reasoningTokens: 5 }
      expect(await totals(undefined, undefined)).toEqual({ inputTokens: 0, outputTokens: 0 })
      expect(await totals(plain)).toEqual(plain)
      expect(await totals(undefined, plain)).toEqual(plain)
      expect(await totals(plain, undefined)).toEqual(plain)
      expect(await totals(plain, plain, plain)).toEqual({ inputTokens: 30, outputTokens: 60 })
      expect(await totals(cached, plain)).toEqual({ inputTokens: 20, outputTokens: 40, cachedInputTokens: 4 })
      expect(await totals(cached, cached)).toEqual({ inputTokens: 20, outputTokens: 40, cachedInputTokens: 8 })
      expect(await totals(cached, reasoned)).toEqual({
        inputTokens: 20,
        outputTokens: 40,
        cachedInputTokens: 4,
        reasoningTokens: 5,
      })
    }),
  },
  {
    row: 64,
    says: 'the loop needs no word to run, and its hooks see each round',
    verdict: same(async () => {
      let rounds = 0
      const hook: Hook = {
        name: 'counts',
        step: (request, next) => {
          rounds += 1
          return next(request)
        },
      }
      const { state } = await play({ script: [sum, say('3')], tools: [add], loop: { hooks: [hook] } })
      expect([state.finished?.answer, rounds]).toEqual(['3', 2])
      const { texts } = await chatStream({ script: [sum, say('3')], tools: [add] })
      expect(texts.join('')).toBe('3')
    }),
  },
  {
    row: 65,
    says: 'the loop can be turned off: the model is asked once, and its calls are the caller’s',
    verdict: same(async () => {
      const { json, requests } = await chat({ script: [sum], tools: [add], vars: { TOOL_EXECUTION: 'caller' } })
      expect(json.choices[0].message.tool_calls?.map((call) => Reflect.get(call, 'function'))).toEqual([
        { name: 'add', arguments: '{"a":1,"b":2}' },
      ])
      expect(requests).toHaveLength(1)
    }),
  },
  {
    row: 66,
    says: 'without any tools there is one round',
    verdict: same(async () => {
      const { answer, json, requests } = await chat({ script: [say('hi')] })
      expect([answer, json.edgecall.steps, requests.map(namesIn)]).toEqual(['hi', 1, [[]]])
    }),
  },
  {
    row: 67,
    says: 'a tool that a hook brings along for a request is looped like any other',
    verdict: same(async () => {
      const hook: Hook = { name: 'provider', offer: () => ['injected'] }
      const edge = edgeWith([ask(['injected']), say('done')], [{ ...injected, offered: false }], {
        loop: { hooks: [hook] },
      })
      expect(await edge.run()).toMatchObject({ answer: 'done', steps: 2, calls: [{ tool: 'injected', ok: true }] })
      expect(edge.requests.map(namesIn)).toEqual([['injected'], ['injected']])
    }),
  },
  {
    row: 68,
    says: 'so are tools that belong to a model',
    verdict: same(async () => {
      const edge = edgeWith([ask(['injected']), say('done')], [add, { ...injected, offered: false }], {
        toolsOf: (model) => (model === 'test/scripted' ? ['injected'] : undefined),
      })
      expect(await edge.run()).toMatchObject({ answer: 'done', calls: [{ tool: 'injected', ok: true }] })
    }),
  },
  {
    row: 69,
    says: 'who handles calls by himself has the loop not handle them too',
    verdict: same(async () => {
      const { tool: counted, runs } = counting()
      const hook: Hook = {
        name: 'mine',
        call: async ({ name }) => ({ ok: true, content: [{ type: 'text', text: `${name} by me` }] }),
      }
      const { state } = await play({ script: [sum, say('done')], tools: [counted], loop: { hooks: [hook] } })
      expect([resultsIn(state.messages), runs()]).toEqual([['add by me'], 0])
    }),
  },
  {
    row: 70,
    says: 'nothing runs a call twice',
    verdict: different(
      'any number may stand around the one loop: each call goes through all of them, once',
      async () => {
        const { tool: counted, runs } = counting()
        const trace: string[] = []
        const hook = (name: string): Hook => ({
          name,
          call: (request, next) => {
            trace.push(name)
            return next(request)
          },
        })
        await play({ script: [sum, say('done')], tools: [counted], loop: { hooks: [hook('a'), hook('b')] } })
        expect([trace, runs()]).toEqual([['a', 'b'], 1])
      },
    ),
  },
  {
    row: 71,
    says: 'how calls are performed can be replaced as a whole',
    verdict: same(async () => {
      const { tool: counted, runs } = counting()
      const edge = edgeWith([sum, say('done')], [counted], {
        loop: {
          execute: async ({ definition }, { arguments: args }) => ({
            ok: true,
            content: [{ type: 'text', text: `${definition.name} of ${JSON.stringify(args)}` }],
          }),
        },
      })
      expect(await edge.run()).toMatchObject({ answer: 'done' })
      expect([resultsIn(edge.requests[1]?.messages), runs()]).toEqual([['add of {"a":1,"b":2}'], 0])
    }),
  },
]
