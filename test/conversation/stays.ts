import { AlarmClock } from '../../src/contract/alarm-clock.ts'
import { settle } from '../fixtures/settle.ts'

/** An alarm that has rung and stays until a time. */
interface Stay {
  readonly until: number
  readonly end: () => void
}

const stays = new Set<Stay>()
let firstLook = Promise.withResolvers<void>()

// The clocks of tests stand, so the timer of a stay is theirs.
const { value: stay } = Object.getOwnPropertyDescriptor(AlarmClock.prototype, 'stay') as {
  readonly value: (this: AlarmClock, work: Promise<unknown>, until: number) => Promise<boolean>
}
AlarmClock.prototype.stay = function (work, until) {
  const real = globalThis.setTimeout
  const own: Stay[] = []
  const setHere = (end: () => void): ReturnType<typeof setTimeout> => {
    own.push({ until, end })
    return real(() => {}, 0)
  }
  Object.assign(globalThis, { setTimeout: setHere })
  const result = stay.call(this, work, until)
  Object.assign(globalThis, { setTimeout: real })
  for (const each of own) stays.add(each)
  if (own.length > 0) firstLook.resolve()
  return result.finally(() => {
    for (const each of own) stays.delete(each)
  })
}

/** Returns when the alarm that stays looks again, in epoch milliseconds; Infinity if none stays. */
export function nextStay(): number {
  return Math.min(Infinity, ...[...stays].map(({ until }) => until))
}

/** Has it look again, and resolves when it has. */
export async function endStay(): Promise<void> {
  for (const { end } of stays) end()
  await settle()
}

/** Forgets the alarms that stay, as their objects are lost. Returns whether there were any. */
export function dropStays(): boolean {
  const some = stays.size > 0
  stays.clear()
  return some
}

/** Resolves when an alarm has been handled, or stays. */
export async function untilStay(alarm: Promise<void>): Promise<void> {
  firstLook = Promise.withResolvers()
  await Promise.race([alarm, firstLook.promise])
}
