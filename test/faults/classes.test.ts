import { describe, expect, test } from 'vitest'
import type { ToolAnnotations } from '../../src/contract/tool-definition.ts'
import type { CallStatus, Tool } from '../../src/contract/tool.ts'
import { freezeClock } from '../fixtures/frozen-clock.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { atEachCommit, countOf, type MakeScene, model } from './commits.ts'

freezeClock(60_000)

const TWO_STEPS = model(ask(['one'], ['two']), ask(['one']), say('Done.'))
const CALLS = [id(1, 0), id(1, 1), id(2, 0)]

interface Class {
  readonly annotations?: ToolAnnotations
  /** What the tool says of a call that had its effect, or had not. */
  readonly tells?: (had: boolean) => CallStatus
  /** How often a call takes effect, at the least and at the most. */
  readonly effects: readonly [least: number, most: number]
  /** What the model is told, in one case or the other. */
  readonly results: readonly string[]
}

const OUTCOME = { ok: true, content: [{ type: 'text', text: 'did it' }] } as const
const DONE = 'The call took effect, but its result was lost.'

/** The delivery classes, and what each promises. */
const CLASSES: Readonly<Record<string, Class>> = {
  default: { effects: [0, 1], results: ['did it', 'outcome_unknown'] },
  idempotent: { annotations: { idempotent: true }, effects: [1, 3], results: ['did it'] },
  'read-only': { annotations: { readOnly: true }, effects: [1, 3], results: ['did it'] },
  'reconcile: done, or absent': {
    tells: (had) => (had ? 'done' : 'absent'),
    effects: [1, 1],
    results: ['did it', DONE],
  },
  'reconcile: an outcome, or absent': {
    tells: (had) => (had ? OUTCOME : 'absent'),
    effects: [1, 1],
    results: ['did it'],
  },
  'reconcile: an outcome, or unknown': {
    tells: (had) => (had ? OUTCOME : 'unknown'),
    effects: [0, 1],
    results: ['did it', 'outcome_unknown'],
  },
  'reconcile: unknown': { tells: () => 'unknown', effects: [0, 1], results: ['did it', 'outcome_unknown'] },
  'reconcile: unknown, and idempotent': {
    annotations: { idempotent: true },
    tells: () => 'unknown',
    effects: [1, 3],
    results: ['did it'],
  },
}

/** A tool that notes its effects, and can tell of them. */
function effect(name: string, effects: string[], { annotations = {}, tells }: Partial<Class> = {}): Tool {
  const effectTool = tool(
    name,
    (_args, { idempotencyKey }) => {
      effects.push(idempotencyKey)
      return 'did it'
    },
    { annotations, ...(tells && { reconcile: true }) },
  )
  if (!tells) return effectTool
  return { ...effectTool, status: async ({ context }) => tells(effects.includes(context.idempotencyKey)) }
}

describe('calls keep the promise of their class when the object is lost at any commit and again after its restart:', () => {
  test.each(Object.entries(CLASSES))('%s', async (_name, promise) => {
    const make: MakeScene = (effects) => ({
      tools: [effect('one', effects, promise), effect('two', effects, promise)],
      answer: TWO_STEPS,
    })
    const counts = new Set<number>()
    const values = new Set<string | undefined>()
    await atEachCommit(make, ({ record, effects }) => {
      expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
      expect(record.calls.map((call) => call.id)).toEqual(CALLS)
      for (const { id, ok, content, error } of record.calls) {
        const [part] = content ?? []
        values.add(part?.type === 'text' ? part.text : error?.code)
        counts.add(countOf(effects, id))
        // What the model is told of has happened.
        if (ok) expect(effects).toContain(id)
      }
    })
    expect([Math.min(...counts), Math.max(...counts)]).toEqual(promise.effects)
    expect(values).toEqual(new Set(promise.results))
  })
})
