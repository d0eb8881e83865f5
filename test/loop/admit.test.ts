import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { initialLimits, LIMITS, type Limit } from '../../src/contract/limits.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { agentTool } from '../../src/loop/agent.ts'
import { collect, executeToolCalls } from '../../src/loop/manual.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, bodies, play, type Play, say, tool } from '../fixtures/play.ts'
import { scripted } from '../fixtures/scripted.ts'

/** A request that reaches a limit soon, and what the limit keeps from more than so many calls. */
interface Case {
  readonly limit: number
  readonly script: readonly ModelEvent[][]
  readonly calls: number
}

const look = (n: number) => ask(['look', { n }])
const steps = [look(1), look(2), look(3), look(4), say('Done.')]
const atOnce = [ask(['look', { n: 1 }], ['write'], ['look', { n: 2 }], ['look', { n: 3 }]), say('Done.')]

/** The limits on calls, with a script that reaches each, and how many calls may run. */
const REACHED: Partial<Record<Limit, readonly Case[]>> = {
  steps: [{ limit: 2, script: steps, calls: 2 }],
  calls: [
    { limit: 2, script: steps, calls: 2 },
    { limit: 2, script: atOnce, calls: 2 },
  ],
  callsPerTool: [
    { limit: 1, script: steps, calls: 1 },
    { limit: 1, script: atOnce, calls: 2 },
  ],
  tokens: [
    { limit: 20, script: steps, calls: 1 },
    { limit: 14, script: steps, calls: 0 },
  ],
  cost: [
    { limit: 20, script: steps, calls: 1 },
    { limit: 14, script: steps, calls: 0 },
  ],
  sameCalls: [{ limit: 1, script: [look(1), look(1), look(1), look(1), say('Done.')], calls: 1 }],
}

/** The limits on time and sizes, which `admit` has nothing to do with: no count of calls reaches them. */
const ELSEWHERE: readonly Limit[] = [
  ...(['callMs', 'runMs', 'firstByteMs', 'silenceMs', 'modelWaitMs', 'waitMs'] as const),
  ...(['resultBytes', 'answerCharacters', 'concurrentCalls'] as const),
]

test('every limit is one that calls reach, or one of times and sizes', () => {
  expect([...Object.keys(REACHED), ...ELSEWHERE].toSorted()).toEqual(Object.keys(LIMITS).toSorted())
})

interface Counted {
  readonly ran: number
  readonly which: string | undefined
}

function counting(): { readonly tools: readonly Tool[]; readonly ran: () => number } {
  let ran = 0
  const count = (name: string, annotations: object) => tool(name, () => `result ${++ran}`, { annotations })
  return { tools: [count('look', { readOnly: true }), count('write', {})], ran: () => ran }
}

const price = { input: 1e6, output: 1e6 }

/** Performs a script with a limit; the budget of a key is a limit too. */
const WAYS: Readonly<Record<string, (request: NonNullable<Play['request']>, each: Case) => Promise<Counted>>> = {
  'a run': async (request, { script }) => {
    const { tools, ran } = counting()
    const { state } = await play({ script, tools, request, price })
    return { ran: ran(), which: state.limit?.which }
  },
  'a run in a conversation': async (request, { script }) => {
    const { tools, ran } = counting()
    const { state } = await play({ script, tools, request: { ...request, conversation: 'c', durable: true }, price })
    return { ran: ran(), which: state.limit?.which }
  },
  'an alias': async (request, { script }) => {
    const { tools, ran } = counting()
    const [look, write] = tools
    const aliases = [look, write].flatMap((each) =>
      each ? { ...each, definition: { ...each.definition, aliasOf: `${each.definition.name}_target` } } : [],
    )
    const { state } = await play({ script, tools: aliases, request, price })
    return { ran: ran(), which: state.limit?.which }
  },
  'an agent': async (request, { script }) => {
    const { tools, ran } = counting()
    const model = { ...scripted([...script], 'test/scripted'), price }
    const source = {
      find: async () => tools,
      offered: async () => tools,
      list: async () => ({ tools, unavailable: [] }),
    }
    const agent = await agentTool(
      {
        name: 'clerk',
        description: 'Does it.',
        instructions: '',
        tools: ['look', 'write'],
        limits: request.limits ?? {},
      },
      {
        models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
        tools: () => source,
        now: () => 0,
      },
    )
    const { eager = false } = request
    const outer = await play({
      script: [ask(['clerk', { question: 'Go' }]), say('Done.')],
      tools: [agent],
      request: { eager },
    })
    return { ran: ran(), which: outer.state.calls[0]?.result?.ok ? 'any' : undefined }
  },
}

const budgetOf = (name: Limit, limit: number) => (name === 'tokens' || name === 'cost' ? { [name]: limit } : undefined)

describe.each(Object.keys(REACHED) as Limit[])('the limit %s', (name) => {
  describe.each(REACHED[name] ?? [])('of $limit', (each) => {
    test.each(Object.keys(WAYS))('holds for %s, eager or not', async (way) => {
      const limits = { [name]: each.limit }
      const perform = (eager: boolean) => WAYS[way]?.({ eager, limits }, each)
      const lazy = await perform(false)
      expect(lazy?.ran).toBe(each.calls)
      expect(await perform(true)).toEqual(lazy)
    })

    test('holds as the budget of a key, eager or not', async () => {
      const budget = budgetOf(name, each.limit)
      if (!budget) return
      const perform = (eager: boolean) => WAYS['a run']?.({ eager, budget }, each)
      const lazy = await perform(false)
      expect(lazy).toEqual({ ran: each.calls, which: name })
      expect(await perform(true)).toEqual(lazy)
    })
  })
})

const call = fc.tuple(fc.constantFrom('look', 'write', 'other'), fc.record({ n: fc.integer({ min: 0, max: 2 }) }))

test('for any script and limits, what starts early is what would have run anyway', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { maxLength: 5 }),
      fc.record(
        {
          steps: fc.integer({ min: 1, max: 3 }),
          calls: fc.integer({ min: 1, max: 6 }),
          callsPerTool: fc.integer({ min: 1, max: 3 }),
          sameCalls: fc.integer({ min: 1, max: 2 }),
          tokens: fc.integer({ min: 1, max: 60 }),
          cost: fc.integer({ min: 1, max: 60 }),
        },
        { requiredKeys: [] },
      ),
      fc.option(fc.constantFrom('spring-ai' as const, 'langchain4j' as const), { nil: undefined }),
      fc.constantFrom('answer' as const, 'model' as const),
      async (answers, limits, compat, onLimit) => {
        const perform = async (eager: boolean) => {
          const results: string[] = []
          const make = (name: string, annotations: object) =>
            tool(
              name,
              ({ n }) => {
                results.push(`${name} ${String(n)}`)
                return `result of ${name} ${String(n)}`
              },
              { annotations },
            )
          const tools = [make('look', { readOnly: true }), make('write', {}), make('other', { idempotent: true })]
          const script = [...answers.map((calls) => ask(...calls)), say('Done.'), say('Done.')]
          const library = compat ? { ...initialLimits(compat), ...limits } : limits
          const request = { eager, onLimit, limits: library, ...(compat && { compat }) }
          const { state, events } = await play({ script, tools, request, price })
          return {
            results: results.toSorted(),
            calls: state.calls.map(({ tool, result }) => [tool, result?.ok, result?.error?.code]),
            limits: bodies(events).filter((event) => 'type' in event && event.type === 'limit.reached'),
            end: [state.finished?.finish, state.finished?.which, state.finished?.answer],
          }
        }
        expect(await perform(true)).toEqual(await perform(false))
      },
    ),
    { numRuns: 300 },
  )
})

/** Drives a script as an application that loops by itself does, and counts the calls that ran. */
async function loopManually({ script }: Case, limits: object, eager: boolean): Promise<number> {
  const { tools, ran } = counting()
  let messages: readonly Message[] = [{ role: 'user', content: 'Go' }]
  const model = scripted([...script], 'test/scripted')
  for (;;) {
    const answer = await collect(model.stream({ messages, tools: [] }, new AbortController().signal))
    if (answer.calls.length === 0) return ran()
    const result = await executeToolCalls({ messages, tools, limits, request: { eager } }, answer)
    messages = result.messages
  }
}

// Each answer of a manual loop is a run of its own for the limits on usage, which such an application counts itself.
const MANUAL = Object.entries(REACHED).flatMap(([name, cases]) =>
  name === 'tokens' || name === 'cost' ? [] : cases.map((each) => [name, each] as const),
)

test.each(MANUAL)('a manual loop holds the limit %s, eager or not', async (name, each) => {
  const limits = { [name]: each.limit }
  expect(await loopManually(each, limits, false)).toBe(each.calls)
  expect(await loopManually(each, limits, true)).toBe(each.calls)
})

test('a call is not started early if the setup leaves calls of some answers to the caller', async () => {
  const { tools, ran } = counting()
  const { state } = await play({
    script: [look(1)],
    tools,
    request: { eager: true },
    loop: { runsCalls: () => false },
  })
  expect([ran(), state.finished?.finish]).toEqual([0, 'tool_calls'])
})

test('a call that an attempt at the step has sent and lost counts towards the limits', async () => {
  const { tools, ran } = counting()
  const cut = { code: 'model_stream_cut', message: 'The stream broke off.', retryable: true } as const
  const { state } = await play({
    script: [[...look(1).slice(0, -1), { type: 'error', error: cut }], look(2), say('Done.')],
    tools,
    request: { eager: true, limits: { calls: 1 } },
  })
  expect([ran(), state.finished?.which, state.calls.map(({ result }) => result?.error?.code)]).toEqual([
    1,
    'calls',
    ['limit'],
  ])
})
