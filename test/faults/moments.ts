import type { CallEnd } from './evidence.ts'
import type { Point, ToolClass } from './script.ts'

/** What shows of a run from outside. */
export interface Sight {
  /** How many calls its model asks for. */
  readonly calls: number
  /** How many events of a type its reader has seen, in one step or in all. */
  readonly saw: (type: string, step?: number) => number
  /** How often it came to a point. */
  readonly came: (point: Point) => number
}

/** A moment at which the edge is killed. The run is held there, or is let go in the very moment of the kill. */
export interface Moment {
  readonly name: string
  /** Where the run goes no further before the kill: it comes to the first, and to the next once that is let go. */
  readonly holds: readonly Point[]
  /** Whether the run is where it is to be. */
  readonly isReached: (sight: Sight) => boolean
  /**
   * What is let go with the kill, so that the edge dies while it takes note: a hold, or the request. One that was not
   * `answered` when the edge dies is posted again, with its key.
   */
  readonly last?: 'request' | 'request, answered' | Point
  /** What a call may come to: how often it was sent, and what the model was told of it. */
  readonly ends: Readonly<Record<ToolClass, readonly CallEndText[]>>
  /** Whether the run may have ended. Else its model is asked again. */
  readonly mayHaveEnded?: boolean
}

export type CallEndText = `${CallEnd['deliveryCount']} ${CallEnd['outcome']}`

/**
 * A plain call, whose like is one whose tool can tell nothing; those that may be sent again; and one whose tool knows
 * that it took effect. One whose tool knows more always comes to one effect, and the model is told of it.
 */
function ends(
  plain: readonly CallEndText[],
  repeatable: readonly CallEndText[],
  tellsDone: readonly CallEndText[] = ['1 effect'],
): Moment['ends'] {
  return {
    plain,
    tellsNothing: plain,
    idempotent: repeatable,
    readOnly: repeatable,
    tellsOutcome: ['1 effect'],
    tellsDone,
  }
}

const ONCE = ends(['1 effect'], ['1 effect'])

export const MOMENTS: readonly Moment[] = [
  { name: 'the request was on its way', holds: ['asked 1'], isReached: () => true, last: 'request', ends: ONCE },
  { name: 'the run was accepted', holds: ['asked 1'], isReached: () => true, last: 'request, answered', ends: ONCE },
  { name: 'the model was asked', holds: ['asked 1'], isReached: ({ came }) => came('asked 1') === 1, ends: ONCE },
  { name: 'a delta was seen', holds: ['speaking 1'], isReached: ({ saw }) => saw('text.delta') > 0, ends: ONCE },
  {
    name: 'the model has answered',
    holds: ['ending 1', 'called 1'],
    isReached: ({ saw, came }) => saw('text.delta') > 0 && came('ending 1') === 1,
    last: 'ending 1',
    ends: ends(['1 effect', '0 unknown'], ['1 effect']),
  },
  {
    name: 'the call was started',
    holds: ['called 1'],
    isReached: ({ saw, came, calls }) => saw('call.started') === calls && came('called 1') === calls,
    ends: ends(['0 unknown'], ['1 effect']),
  },
  {
    name: 'the effect was had',
    holds: ['effect 1'],
    isReached: ({ came, calls }) => came('effect 1') === calls,
    ends: ends(['1 unknown'], ['2 effect'], ['1 done']),
  },
  {
    name: 'the tool has answered',
    holds: ['effect 1', 'asked 2'],
    isReached: ({ came, calls }) => came('effect 1') === calls,
    last: 'effect 1',
    ends: ends(['1 effect', '1 unknown'], ['1 effect', '2 effect'], ['1 effect', '1 done']),
  },
  {
    name: 'the outcome was seen',
    holds: ['asked 2'],
    isReached: ({ saw, calls }) => saw('call.settled') === calls,
    ends: ONCE,
  },
  {
    name: 'a delta of the last answer was seen',
    holds: ['speaking 2'],
    isReached: ({ saw }) => saw('text.delta', 2) > 0,
    ends: ONCE,
  },
  {
    name: 'the last answer was given',
    holds: ['ending 2'],
    isReached: ({ saw, came }) => saw('text.delta', 2) > 0 && came('ending 2') === 1,
    last: 'ending 2',
    ends: ONCE,
    mayHaveEnded: true,
  },
  {
    name: 'the end was seen',
    holds: [],
    isReached: ({ saw }) => saw('run.finished') === 1,
    ends: ONCE,
    mayHaveEnded: true,
  },
]
