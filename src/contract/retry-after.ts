import { LONGEST_TIMER_MS } from './pause.ts'

const NUMBER = /^\d+(\.\d+)?$/

/**
 * How long a server asks to be left alone, in milliseconds, and no longer than a timer lasts; undefined where it does
 * not say. Takes seconds, HTTP dates, and the milliseconds that some providers send. `header` is one by its name.
 */
export function retryAfterMs(header: (name: string) => unknown): number | undefined {
  const [exact = '', after = ''] = ['retry-after-ms', 'retry-after'].map((name) => {
    const value = header(name)
    return typeof value === 'string' ? value : ''
  })
  const ms = NUMBER.test(exact) ? Number(exact) : NUMBER.test(after) ? Number(after) * 1000 : untilDate(after)
  return Number.isNaN(ms) ? undefined : Math.min(ms, LONGEST_TIMER_MS)
}

/** Much that is no date, such as -5, is one to `Date.parse`; HTTP dates have a time. */
function untilDate(text: string): number {
  return text.includes(':') ? Math.max(0, Date.parse(text) - Date.now()) : NaN
}
