import { describe, expect, test } from 'vitest'
import { freezeClock } from '../fixtures/frozen-clock.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { atEachCommit, countOf, type MakeScene, model } from './commits.ts'

freezeClock(60_000)

/** A tool whose every call is noted, with its key. */
const look = (effects: string[]) =>
  tool(
    'look',
    ({ at }, { idempotencyKey }) => {
      effects.push(`${idempotencyKey} ${String(at)}`)
      return `saw ${String(at)}`
    },
    { annotations: { idempotent: true } },
  )

describe('an object that is lost at any commit and again after its restart', () => {
  test('sends early calls again with the same key, and settles each once', async () => {
    const make: MakeScene = (effects) => ({
      tools: [look(effects)],
      request: { eager: true },
      answer: slowly(model(ask(['look', { at: 1 }], ['look', { at: 2 }]), say('Done.'))),
    })
    const counts = new Set<number>()
    await atEachCommit(make, ({ record, effects }) => {
      expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
      expect(record.calls.map(({ content }) => content)).toEqual([
        [{ type: 'text', text: 'saw 1' }],
        [{ type: 'text', text: 'saw 2' }],
      ])
      const deliveries = [...new Set(effects)].toSorted((a, b) => a.localeCompare(b))
      expect(deliveries.map((each) => each.split(' ')[1])).toEqual(['1', '2'])
      for (const each of deliveries) counts.add(countOf(effects, each))
    })
    expect(counts).toEqual(new Set([1, 2, 3]))
  })

  test('never sends the key of an early call with other arguments', async () => {
    let requestCount = 0
    const make: MakeScene = (effects) => {
      requestCount = 0
      return {
        tools: [look(effects)],
        request: { eager: true },
        // The model says something else each time.
        answer: (request) => slowly(model(ask(['look', { at: ++requestCount }]), say('Done.')))(request),
      }
    }
    await atEachCommit(make, ({ record, effects }) => {
      expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
      const deliveries = [...new Set(effects)]
      const keys = deliveries.map((each) => each.split(' ')[0])
      expect(keys).toEqual([...new Set(keys)])
    })
  })
})

/** The same, with time for something else after each event. */
function slowly(answer: ReturnType<typeof model>) {
  return async function* (request: Parameters<typeof answer>[0]) {
    for (const event of answer(request)) {
      yield event
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
