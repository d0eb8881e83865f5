import { expect } from 'vitest'
import type { RunEvent } from '../../../src/contract/event.ts'
import type { ModelEvent } from '../../../src/contract/model.ts'
import { chatCodec } from '../../../src/wire/provider/openai-chat/answer.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, bodies, id, play, say, tool, types } from '../../fixtures/play.ts'
import { inPieces, replay } from '../../fixtures/replay.ts'
import { dataOf } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import type { Scene } from '../scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const SUM = ask(['add', { a: 1, b: 2 }])
const DOWN = { code: 'model_unavailable', message: 'The model is down.', retryable: true }
const call = (callId: string, name: string, args: string) => ({ callId, tool: name, arguments: args })

/** The events of a run, as a reader of its stream gets them. */
async function eventsOf({ body, ...scene }: Scene): Promise<RunEvent[]> {
  const response = await testEdge(scene).ask('/runs', {
    json: { input: 'Hello', ...body },
    headers: { accept: 'text/event-stream' },
  })
  return dataOf(await response.text()) as RunEvent[]
}

/** What is read of the deltas that a Chat Completions server sends. */
function read(...deltas: readonly object[]): Promise<ModelEvent[]> {
  const chunks = [...deltas.map((delta) => [{ delta }]), [{ delta: {}, finish_reason: 'tool_calls' }]]
  const text = chunks.map((choices) => `data: ${JSON.stringify({ choices })}\n\n`).join('')
  return replay(inPieces(new TextEncoder().encode(`${text}data: [DONE]\n\n`)), chatCodec('openai-chat'))
}

/** The whole calls in what was read. */
async function callsIn(...deltas: readonly object[]): Promise<unknown[]> {
  const events = await read(...deltas)
  return events.flatMap((event) => (event.type === 'call' ? [[event.tool, event.arguments]] : []))
}

/** The pieces in which a call comes. */
const begin = (rest: object, name = 'add') => ({ tool_calls: [{ function: { name, arguments: '' }, ...rest }] })
const args = (text: string, rest: object = {}) => ({ tool_calls: [{ function: { arguments: text }, ...rest }] })

/** Rows 90 to 93: runs as streams. */
export const stream: readonly Row[] = [
  {
    row: 90,
    says: 'a stream has each handler once at the most, and one for errors or none; else it does not start',
    verdict: different('a stream is one list of events with one end, however it comes to it', async () => {
      const scene = { tools: [add] }
      const done = await eventsOf({ ...scene, script: [SUM, say('3')] })
      const failed = await eventsOf({ ...scene, script: [SUM, [{ type: 'error', error: DOWN }]] })
      for (const events of [done, failed]) {
        expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
        expect(events.at(-1)?.type).toBe('run.finished')
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      }
      expect(failed.at(-1)).toMatchObject({ status: 'failed', error: { code: 'model_unavailable' } })
    }),
  },
  {
    row: 91,
    says: 'a reader is told of calls as they are written, started and settled, one or several at once',
    verdict: same(async () => {
      const script: ModelEvent[][] = [
        [
          { type: 'call.delta', index: 0, tool: 'add', arguments: '{"a":1,' },
          { type: 'call.delta', index: 0, arguments: '"b":2}' },
          { type: 'call', index: 0, tool: 'add', arguments: '{"a":1,"b":2}' },
          { type: 'call', index: 1, tool: 'add', arguments: '{}' },
          { type: 'finish', finish: 'tool_calls' },
        ],
        say('3'),
      ]
      for (const concurrentCalls of [1, 8]) {
        const { events } = await play({ script, tools: [add], request: { limits: { concurrentCalls } } })
        const [first, second] = [
          [id(1, 0), '{"a":1,"b":2}'],
          [id(1, 1), '{}'],
        ] as const
        const ofCalls = bodies(events).filter((body) => 'callId' in body)
        expect(ofCalls.slice(0, 4)).toEqual([
          { type: 'call.delta', step: 1, index: 0, callId: first[0], name: 'add', arguments: '{"a":1,' },
          { type: 'call.delta', step: 1, index: 0, callId: first[0], arguments: '"b":2}' },
          { type: 'call.proposed', ...call(first[0], 'add', first[1]) },
          { type: 'call.proposed', ...call(second[0], 'add', second[1]) },
        ])
        const [started, settled] = ['call.started', 'call.settled']
        expect(types(events).filter((type) => type === started || type === settled)).toEqual(
          concurrentCalls === 1 ? [started, settled, started, settled] : [started, started, settled, settled],
        )
      }
    }),
  },
  {
    row: 92,
    says: 'what a callback throws goes to the handler of errors, and what that throws to the log',
    verdict: different('who watches stops nothing: operators read of it, and the run goes on', async () => {
      const { state, faults } = await play({
        script: [SUM, say('3')],
        tools: [add],
        loop: {
          observe: ({ type }) => {
            if (type === 'call.settled') throw new Error('The log is full')
          },
        },
      })
      expect(state.finished).toMatchObject({ status: 'completed', answer: '3' })
      expect(faults).toEqual([{ code: 'observer_failed', detail: 'The log is full' }])
    }),
  },
  {
    row: 93,
    says: 'calls are told apart in streams without numbers, with empty ends, without functions, several in one piece',
    verdict: same(async () => {
      expect(await callsIn(begin({ index: null, id: 'a' }), args('{"a":1}', { index: null }))).toEqual([
        ['add', '{"a":1}'],
      ])
      expect(
        await callsIn(
          { tool_calls: [{ index: null, id: 'a', function: { name: 'add', arguments: '{"a":1}' } }] },
          { tool_calls: [{ index: null, id: 'b', function: { name: 'add', arguments: '{"a":2}' } }] },
        ),
      ).toEqual([
        ['add', '{"a":1}'],
        ['add', '{"a":2}'],
      ])
      expect(
        await callsIn(
          begin({ index: 0, id: 'a' }),
          args('{"a":1}', { index: 0 }),
          { tool_calls: [{ index: 0, id: null, function: { name: null, arguments: null } }] },
          { tool_calls: [{ index: 0 }] },
        ),
      ).toEqual([['add', '{"a":1}']])
      const [one, two] = [begin({ index: 0, id: 'a' }).tool_calls, begin({ index: 1, id: 'b' }, 'sub').tool_calls]
      const rest = [args('{}', { index: 0 }).tool_calls, args('{"b":1}', { index: 1 }).tool_calls]
      expect(await callsIn({ tool_calls: [...one, ...two] }, { tool_calls: rest.flat() })).toEqual([
        ['add', '{}'],
        ['sub', '{"b":1}'],
      ])
    }),
  },
]
