import * as v from 'valibot'
import { expect } from 'vitest'
import { runOfCall } from '../../../src/contract/id.ts'
import type { Message } from '../../../src/contract/message.ts'
import { failure } from '../../../src/contract/tool.ts'
import { memory } from '../../../src/loop.ts'
import { defineTool } from '../../../src/tool.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row } from '../rows.ts'
import { carried, chatStream, native, QUESTION, resultsIn } from '../scene.ts'
import { COMPAT, integer, undoable } from './scene.ts'

function counter() {
  let count = 0
  return tool('count', () => ++count)
}

const work = tool('work', () => 'done')
const broken = tool('broken', () => failure('broken', 'It broke.'))
const THREE = ask(['work'], ['work'], ['work'])

/** Rows 110 to 114: whole runs, where no test of theirs pins what becomes of them. */
export const unpinnedRuns: readonly Row[] = [
  {
    row: 110,
    says: 'a tool that does not exist, or arguments that do not fit, break the memory: the next turn fails',
    verdict: different('the turn is whole however it ends, and the next one sees it', async () => {
      const input = v.object({ i: integer })
      const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input, run: () => 'ok' }))
      for (const vars of [{}, COMPAT]) {
        const edge = keptEdge({ script: [ask(['nosuch'], ['tool', '{']), say('sorry'), say('Hello')], tools, vars })
        await edge.post('/conversations', { id: 'c' })
        await edge.post('/conversations/c/runs', { input: 'Go' })
        const next = await edge.post('/conversations/c/runs', { input: 'Hello?' })
        expect(await next.json()).toMatchObject({ status: 'completed' })
        const [first, second, third, fourth] = edge.requests.at(-1)?.messages ?? []
        expect([first, second]).toMatchObject([{ role: 'user' }, { role: 'assistant', calls: [{}, {}] }])
        expect([third, fourth]).toMatchObject([
          { role: 'tool', tool: 'nosuch', ok: false },
          { role: 'tool', tool: 'tool', ok: false },
        ])
      }
    }),
  },
  {
    row: 111,
    says: 'beside a call that ran, one of an unknown tool ends a stream with one result of two',
    verdict: different('both have a result, and the model goes on', async () => {
      const { texts, requests } = await chatStream({
        script: [ask(['count'], ['nosuch']), say('One')],
        tools: [counter()],
        body: { messages: [QUESTION] },
      })
      expect([texts, resultsIn(requests[1]?.messages)]).toEqual([
        ['One'],
        ['1', 'There is no tool "nosuch". Call one that is on offer, such as "count".'],
      ])
    }),
  },
  {
    row: 112,
    says: 'a window that is smaller than the turn under way cuts it, and the model gets half of it or nothing',
    verdict: different(
      'the turn under way is never cut; of one that is over, what was said is shown, with a note on its calls',
      async () => {
        for (const messages of [2, 3]) {
          const edge = keptEdge({ script: [THREE, say('All done'), say('Yes')], tools: [work] })
          await edge.post('/conversations', { id: 'c', window: { messages } })
          for (const input of ['Work', 'Sure?']) await edge.post('/conversations/c/runs', { input })
          const roles = edge.requests.map((request) => request.messages.map(({ role }) => role))
          expect(roles).toEqual([
            ['user'],
            ['user', 'assistant', 'tool', 'tool', 'tool'],
            // The first names the id under which the calls of the turn can be read.
            ['system', 'user', 'system', 'assistant', 'user'],
          ])
        }
        const own = memory({ messages: 2 })
        const calls = ['c1', 'c2', 'c3'].map((callId) => ({ callId, tool: 'work', arguments: '{}' }))
        const turn: Message[] = [
          { role: 'user', content: 'Work' },
          { role: 'assistant', content: '', calls },
          ...calls.map(({ callId }): Message => {
            return { role: 'tool', callId, tool: 'work', ok: true, content: [{ type: 'text', text: 'done' }] }
          }),
        ]
        own.add(...turn)
        expect(own.messages()).toEqual(turn)
      },
    ),
  },
  {
    row: 113,
    says: 'in a stream nothing is undone',
    verdict: different('a stream does all that an answer does that is collected', async () => {
      const undone: string[] = []
      const edge = testEdge({
        script: [ask(['book'], ['broken']), say('sorry')],
        tools: [undoable('book', undone), broken],
      })
      const json = { input: 'Go', compensate: true }
      const response = await edge.ask('/runs', { json, headers: { accept: 'text/event-stream' } })
      expect(await response.text()).toContain('event: call.undone')
      expect(undone).toHaveLength(1)
    }),
  },
  {
    row: 114,
    says: 'undoing a call without an id breaks',
    verdict: different(
      'no call is without: the edge gives each its id, which is its key when it is undone',
      async () => {
        const keys: unknown[] = []
        const book = {
          ...tool('book', () => 'booked', { undo: true }),
          undo: async ({ context }: { context: { callId: string; idempotencyKey: string } }) => {
            keys.push([context.callId, context.idempotencyKey])
            return { ok: true, content: [] } as const
          },
        }
        const { json } = await native({
          script: [ask(['book'], ['broken']), say('sorry')],
          tools: [book, broken],
          body: { compensate: true },
        })
        const [id = ''] = json.calls.map((call) => call.id)
        expect([keys, runOfCall(id)]).toEqual([[[id, id]], json.id])
      },
    ),
  },
]
