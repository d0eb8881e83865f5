import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ModelEvent } from '../../../src/contract/model.ts'
import { callAssembly } from '../../../src/wire/provider/openai-chat/answer.ts'

const argumentsText = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((args) => JSON.stringify(args))

/** A call with the places where its arguments are cut, and the order in which the calls' fragments come. */
const answers = fc.record({
  calls: fc.array(
    fc.record({ tool: fc.constantFrom('clock', 'weather'), text: argumentsText, cuts: fc.array(fc.nat(200)) }),
    { minLength: 1, maxLength: 4 },
  ),
  turns: fc.array(fc.nat(3), { maxLength: 40 }),
})

function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length))
}

/** Fragments of all calls: each call's in order, calls beginning in order, else as the turns say. */
function interleave(fragments: readonly (readonly object[])[], turns: readonly number[]): object[] {
  const queues = fragments.map((each) => [...each])
  const first = queues.map((queue) => queue.shift()!)
  const middle = turns.flatMap((turn) => queues[turn % queues.length]?.shift() ?? [])
  return [...first, ...middle, ...queues.flat()]
}

test.each([
  ['their index alone', (index: number, isFirst: boolean, id: string) => (isFirst ? { index, id } : { index })],
  ['their id alone', (_: number, __: boolean, id: string) => ({ id })],
  ['their id, under one index', (_: number, __: boolean, id: string) => ({ index: 0, id })],
  ['both', (index: number, _: boolean, id: string) => ({ index, id })],
])('calls with fragments in any order are separated by %s', (_, label) => {
  fc.assert(
    fc.property(answers, ({ calls, turns }) => {
      const fragments = calls.map(({ tool, text, cuts }, index) => [
        { ...label(index, true, `call_${index}`), function: { name: tool, arguments: '' } },
        ...pieces(text, cuts).map((piece) => ({
          ...label(index, false, `call_${index}`),
          function: { arguments: piece },
        })),
      ])
      const assembly = callAssembly()
      const events: ModelEvent[] = []
      for (const entry of interleave(fragments, turns)) assembly.take([{ ...entry }], events)
      expect(assembly.finish(events, false)).toBeUndefined()
      expect(events.filter((event) => event.type === 'call')).toEqual(
        calls.map(({ tool, text }, index) => ({ type: 'call', index, tool, arguments: text })),
      )
    }),
  )
})
