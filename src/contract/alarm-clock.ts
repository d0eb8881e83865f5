import { pause } from './time-limit.ts'
import type { Report } from './setup.ts'
import { messageOf } from './thrown.ts'

/** An alarm that has not rung so long after its time is lost. */
const MOST_LATE_MS = 10_000
/** How long the clock waits before it sets an alarm again that the platform has refused; each time twice as long. */
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

export interface AlarmClockPorts {
  readonly setAlarm: (time: number) => Promise<void>
  /** Returns the time of the alarm that is set, in epoch milliseconds; null if none is. */
  readonly getAlarm: () => Promise<number | null>
  /** Returns when something that is stored is due, in epoch milliseconds, which may have passed; Infinity for never. */
  readonly nextDue: () => number
  readonly report: Report
}

/** The one alarm of an object. It never rings later than what is stored is due. All times are in epoch milliseconds. */
export class AlarmClock {
  readonly #ports: AlarmClockPorts
  /** The time of the alarm, Infinity if none is set; undefined if something that is stored may be due before it. */
  #time: number | undefined
  /** How often in a row the platform has refused to set the alarm. */
  #refusals = 0
  /** Ends the stay of the alarm that rings. */
  #leave: (() => void) | undefined

  constructor(ports: AlarmClockPorts) {
    this.#ports = ports
  }

  /** Sets the alarm to ring at a time, unless it rings earlier. */
  wakeAt(time: number): void {
    const now = Date.now()
    if (this.#isLost(now)) this.#time = undefined
    const next = afterNow(time, now)
    if (next >= (this.#time ?? Infinity)) return
    // Setting the alarm replaces the one that an earlier instance has set, so what is stored decides when it is due.
    this.#time = this.#time === undefined ? Math.min(next, afterNow(this.#ports.nextDue(), now)) : next
    this.#leave?.()
    void this.#set(this.#time)
  }

  /**
   * Keeps the alarm that rings until some work ends or a time has come, without setting another one: if the object is lost
   * meanwhile, the platform rings this alarm again at once. Ends at once where an alarm is set, and as soon as one is.
   * Returns whether that time has come.
   */
  async stay(work: Promise<unknown>, until: number): Promise<boolean> {
    if (this.#time !== Infinity) return false
    this.#time = until
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#leave = () => resolve(false)
    const timer = setTimeout(() => resolve(true), Math.max(0, until - Date.now()))
    const isTime = await Promise.race([promise, work.then(() => false)])
    clearTimeout(timer)
    this.#leave = undefined
    if (this.#time === until) this.#time = Infinity
    return isTime
  }

  /** Sets the alarm if it is lost, or would ring after something stored is due. Reads nothing if neither can be. */
  async restore(): Promise<void> {
    if (this.#time !== undefined && !this.#isLost(Date.now())) return
    try {
      this.#time = undefined
      const time = (await this.#ports.getAlarm()) ?? Infinity
      // The alarm has been set meanwhile, or rings now.
      if (this.#time !== undefined) return
      const [due, now] = [this.#ports.nextDue(), Date.now()]
      if (due === Infinity || (time <= Math.max(due, now) && time + MOST_LATE_MS >= now)) this.#time = time
      else this.wakeAt(due)
    } catch (error) {
      this.#ports.report({ event: 'alarm.failed', detail: messageOf(error) })
    }
  }

  /** Whether an alarm is set, as far as this instance knows. */
  get isSet(): boolean {
    return this.#time !== undefined && this.#time < Infinity
  }

  /** The alarm rings: none is set any more. */
  ring(): void {
    this.#time = Infinity
  }

  /** Forgets the alarm's time, after a transaction that may have set it was rolled back. */
  forget(): void {
    this.#time = undefined
  }

  #isLost(now: number): boolean {
    return this.#time !== undefined && this.#time + MOST_LATE_MS < now
  }

  async #set(time: number): Promise<void> {
    try {
      await this.#ports.setAlarm(time)
      this.#refusals = 0
    } catch (error) {
      this.#ports.report({ event: 'alarm.failed', detail: messageOf(error) })
      if (this.#time === time) this.#time = undefined
      await pause(Math.min(RETRY_MS * 2 ** this.#refusals++, LONGEST_RETRY_MS))
      await this.restore()
    }
  }
}

/**
 * Returns the time at which the alarm is set for something that is due, if that is now or has passed: the platform
 * refuses the time 0, and may drop an alarm that is set for the present while one rings.
 */
function afterNow(time: number, now: number): number {
  return Math.max(time, now + 1)
}
