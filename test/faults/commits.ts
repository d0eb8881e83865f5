import { expect } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import { types } from '../fixtures/play.ts'
import { keptFault } from './history.ts'
import { type Commit, type Dies, Lives, type Scene } from './lives.ts'

/** What is left of a run, and what it did: an entry for each effect. */
export interface End {
  readonly record: RunRecord
  readonly events: readonly RunEvent[]
  readonly messages: readonly Message[]
  readonly effects: readonly string[]
  readonly lives: Lives
}

/** A scene whose tools note their effects. `there` is where it is played. */
export type MakeScene = (effects: string[], lives: () => Lives) => Scene

/** Plays a scene to its end, and looks at what holds of every run whatever happened. */
export async function playOut(make: MakeScene, dies?: Dies): Promise<End & { commits: number }> {
  const effects: string[] = []
  const lives: Lives = new Lives(make(effects, () => lives))
  await lives.play(dies)
  const { commits } = lives
  const events = lives.events()
  const { record, stream, messages } = await lives.answers()
  expect(stream).toEqual(events)
  const seqs = events.map(({ seq }) => seq)
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
  expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
  expect(types(events).at(-1)).toBe('run.finished')
  const once = onceOf(events)
  expect(once).toEqual([...new Set(once)])
  expect(keptFault(messages)).toBeUndefined()
  return { record, events, messages, effects, lives, commits }
}

/** What may be there once. A call that left early is another than that of the same place when its step is asked again. */
function onceOf(events: readonly RunEvent[]): string[] {
  const restarts = new Map<number, number>()
  return events.flatMap((event) => {
    const { type } = event
    if (type === 'step.restarted') restarts.set(event.step, event.attempt)
    if (type === 'step.answered') return [`${type} ${event.step}`]
    if (type !== 'call.settled' && type !== 'call.undone') return []
    return [`${type} ${event.callId} ${restarts.get(Number(event.callId.split('_').at(-2))) ?? 1}`]
  })
}

/** Commits of the second life at which the object is lost again; undefined if it is not. */
const RESTARTS: readonly (number | undefined)[] = [undefined, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

/** Loses the object before and after each commit of its first life, and once more in the next; looks at each end. */
export async function atEachCommit(
  make: MakeScene,
  check: (end: End) => void | Promise<void>,
  whens: readonly Commit['when'][] = ['before', 'after'],
  restarts = RESTARTS,
): Promise<void> {
  const { commits } = await playOut(make)
  for (const when of whens) {
    for (let first = 1; first <= commits; first++) {
      for (const second of restarts) {
        const lost = [first, second]
        await check(await playOut(make, (at) => at.when === when && at.number === lost[at.life - 1]))
      }
    }
  }
}

/** The model says the next of these in each step. */
export function model(...steps: readonly (readonly ModelEvent[])[]) {
  return ({ messages }: ModelRequest) => steps[messages.filter(({ role }) => role === 'assistant').length] ?? []
}

export function countOf(values: readonly string[], value: string): number {
  return values.filter((each) => each === value).length
}
