import * as v from 'valibot'
import { expect } from 'vitest'
import { agentTool } from '../../../src/agent.ts'
import type { AgentOptions } from '../../../src/contract/agent.ts'
import type { Message } from '../../../src/contract/message.ts'
import { failure, type Tool } from '../../../src/contract/tool.ts'
import { scripted } from '../../fixtures/scripted.ts'
import { defineTool } from '../../../src/tool.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, native, resultsIn } from '../scene.ts'
import { COMPAT, telling, undoable } from './scene.ts'

const broken = tool('broken', () => failure('broken', 'It broke.'))
const COMPENSATE = { compensate: true } as const
const done = (name: string, args = '{}') => `${name} ${args} [{"type":"text","text":"${name} done"}]`

/** Tools over accounts, one of which cannot be withdrawn from. */
async function bank(balances: Record<string, number>) {
  const input = v.object({ account: v.string(), amount: v.number() })
  const change = (account: string, amount: number) => {
    balances[account] = (balances[account] ?? 0) + amount
  }
  return carried(
    defineTool({
      name: 'withdraw',
      description: 'Withdraws',
      input,
      run: ({ account, amount }) => change(account, -amount),
      undo: ({ account, amount }) => change(account, amount),
    }),
    defineTool({
      name: 'deposit',
      description: 'Deposits',
      input,
      run: () => {
        throw new Error('The account is closed')
      },
    }),
  )
}

const TRANSFER = [
  ask(['withdraw', { account: 'Ada', amount: 5 }], ['deposit', { account: 'Bob', amount: 5 }]),
  say('It did not work'),
]

/** A run with three tools, the given one of which fails, and what was undone. */
async function failing(position: number) {
  const undone: string[] = []
  const tools = ['a', 'b', 'c'].map((name, index) => (index === position ? broken : undoable(name, undone)))
  const { state } = await play({
    script: [ask(...tools.map(({ definition }): [string] => [definition.name])), say('sorry')],
    tools,
    request: COMPENSATE,
  })
  return { undone, results: resultsIn(state.messages) }
}

/** Rows 73 to 81: what was done is undone where a later call fails. */
export const undo: readonly Row[] = [
  {
    row: 73,
    says: 'money that was taken comes back where it cannot be given',
    verdict: same(async () => {
      const balances = { Ada: 10, Bob: 0 }
      const { json } = await native({ script: TRANSFER, tools: await bank(balances), body: COMPENSATE })
      expect([balances, json.calls.map(({ undone = false }) => undone)]).toEqual([{ Ada: 10, Bob: 0 }, [true, false]])
    }),
  },
  {
    row: 74,
    says: 'nothing is undone where that was not asked for',
    verdict: same(async () => {
      const balances = { Ada: 10, Bob: 0 }
      await native({ script: TRANSFER, tools: await bank(balances) })
      expect(balances).toEqual({ Ada: 5, Bob: 0 })
    }),
  },
  {
    row: 75,
    says: 'undoing is told what the call was asked and what it answered',
    verdict: same(async () => {
      const inputs: unknown[] = []
      const tools = await carried(
        defineTool({
          name: 'book',
          description: 'Books',
          input: v.object({ room: v.number() }),
          run: ({ room }) => ({ booking: `B${room}` }),
          undo: (args, outcome) => void inputs.push([args, outcome]),
        }),
      )
      await native({
        script: [ask(['book', { room: 7 }], ['broken']), say('sorry')],
        tools: [...tools, broken],
        body: COMPENSATE,
      })
      const content = [{ type: 'text', text: '{"booking":"B7"}' }]
      expect(inputs).toEqual([[{ room: 7 }, { ok: true, content, structured: { booking: 'B7' } }]])
    }),
  },
  {
    row: 76,
    says: 'whether the last, the middle or the first call fails: those that succeeded are undone, newest first',
    verdict: same(async () => {
      expect((await failing(2)).undone).toEqual([done('b'), done('a')])
      expect((await failing(1)).undone).toEqual([done('c'), done('a')])
      expect((await failing(0)).undone).toEqual([done('c'), done('b')])
      // A call of an unknown tool, and one with arguments that do not fit, fail like any other.
      const undoneBeside = async (call: [string, object?], loop = {}) => {
        const undone: string[] = []
        const tools = [undoable('a', undone), ...(await bank({}))]
        const { status } = await native({
          script: [ask(['a'], call), say('sorry')],
          tools,
          vars: COMPAT,
          body: COMPENSATE,
          setup: { loop },
        })
        return [status, ...undone]
      }
      const misfit: [string, object] = ['withdraw', { account: 'Ada', amount: 'all' }]
      expect(await undoneBeside(misfit)).toEqual([502, done('a')])
      expect(await undoneBeside(['nosuch'])).toEqual([502, done('a')])
      const loop = telling({ invalid_arguments: 'Correct it.', unknown_tool: 'No such tool.' })
      expect(await undoneBeside(misfit, loop)).toEqual([200, done('a')])
      expect(await undoneBeside(['nosuch'], loop)).toEqual([200])
    }),
  },
  {
    row: 77,
    says: 'what was undone once is not undone again when the next try fails',
    verdict: same(async () => {
      const undone: string[] = []
      await play({
        script: [ask(['a', { n: 1 }], ['broken']), ask(['a', { n: 2 }], ['broken']), say('sorry')],
        tools: [undoable('a', undone), broken],
        request: COMPENSATE,
      })
      expect(undone).toEqual([done('a', '{"n":1}'), done('a', '{"n":2}')])
    }),
  },
  {
    row: 78,
    says: 'the model reads of what was undone that it succeeded and was undone, as an error, and because of what',
    verdict: different('the words are ours, of what failed as well', async () => {
      expect((await failing(2)).results).toEqual([
        'The tool "a" succeeded but was undone, because "broken" failed.',
        'The tool "b" succeeded but was undone, because "broken" failed.',
        'It broke.',
      ])
    }),
  },
  {
    row: 79,
    says: 'calls of earlier rounds are undone too, and their results in the memory are written anew',
    verdict: different(
      'what the model has read stands: the result of the failed call says what was undone',
      async () => {
        const undone: string[] = []
        const { requests, state } = await play({
          script: [ask(['a', { n: 1 }]), ask(['broken']), say('sorry')],
          tools: [undoable('a', undone), broken],
          request: COMPENSATE,
        })
        expect(undone).toEqual([done('a', '{"n":1}')])
        const results = state.messages.filter(
          (message): message is Message & { role: 'tool' } => message.role === 'tool',
        )
        expect(results.map(({ ok }) => ok)).toEqual([true, false])
        expect(resultsIn(requests[2]?.messages)).toEqual(['a done', 'It broke.\na({"n":1}) was undone because of it.'])
      },
    ),
  },
  {
    row: 80,
    says: 'undoing must take what its tool takes; where one fails the others go on',
    verdict: different('the types hold it to that, whether it is used or not', async () => {
      const input = v.object({ n: v.number() })
      // @ts-expect-error It gets what the tool gets, and no text.
      defineTool({ name: 't', description: 'T', input, run: () => '', undo: (args: string) => args })
      const undone: string[] = []
      const stubborn = await carried(
        defineTool({
          name: 'stubborn',
          description: 'Stays',
          input: v.object({}),
          run: () => 'done',
          undo: () => {
            throw new Error('It cannot be undone')
          },
        }),
      )
      const { json } = await native({
        script: [ask(['a'], ['stubborn'], ['broken']), say('sorry')],
        tools: [undoable('a', undone), ...stubborn, broken],
        body: COMPENSATE,
      })
      expect(undone).toEqual([done('a')])
      expect(json.calls.map(({ undone: was = false }) => was)).toEqual([true, false, false])
    }),
  },
  {
    row: 81,
    says: 'what one agent did is undone where another fails later, newest first; not where that was not asked for',
    verdict: same(async () => {
      const makeAgent = async (undone: string[], rest: Partial<AgentOptions> = {}, ...last: readonly Tool[]) => {
        const inner = [undoable('book', undone), undoable('pay', undone), ...last]
        const names = inner.map(({ definition }) => definition.name)
        const model = scripted([...names.map((name) => ask([name])), say('Booked.')], 'test/inner')
        return agentTool(
          { name: 'travel', description: 'Books travel', instructions: 'Book.', tools: names, ...rest },
          {
            models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
            tools: () => ({
              list: async () => ({ tools: inner, unavailable: [] }),
              offered: async () => inner,
              find: async () => inner,
            }),
          },
        )
      }
      const outcome = async (rest: Partial<AgentOptions>, ...last: readonly Tool[]) => {
        const undone: string[] = []
        await native({
          script: [ask(['travel', { question: 'To Rome' }]), ask(['broken']), say('sorry')],
          tools: [await makeAgent(undone, rest, ...last), broken],
          body: COMPENSATE,
        })
        return undone.map((text) => text.split(' ')[0])
      }
      expect(await outcome({}, broken)).toEqual([])
      expect(await outcome({ compensate: true }, broken)).toEqual(['pay', 'book'])
      expect(await outcome({ compensate: true })).toEqual(['pay', 'book'])
      expect(await outcome({})).toEqual([])
    }),
  },
]
