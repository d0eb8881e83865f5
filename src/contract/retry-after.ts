import { LONGEST_TIMER_MS } from './pause.ts'

const NUMBER = /^\d+(\.\d+)?$/

/**
 * Returns how long a server asks its client to wait, in milliseconds, at most {@link LONGEST_TIMER_MS}; undefined if it
 * does not say. Reads seconds, HTTP dates, and the milliseconds that some providers send. `header` looks up a header by
 * name.
 */
export function retryAfterMs(header: (name: string) => unknown): number | undefined {
  const [exact = '', after = ''] = ['retry-after-ms', 'retry-after'].map((name) => {
    const value = header(name)
    return typeof value === 'string' ? value : ''
  })
  const ms = NUMBER.test(exact) ? Number(exact) : NUMBER.test(after) ? Number(after) * 1000 : untilDate(after)
  return Number.isNaN(ms) ? undefined : Math.min(ms, LONGEST_TIMER_MS)
}

/** `Date.parse` accepts much that is not a date, such as -5; an HTTP date always contains a time with colons. */
function untilDate(text: string): number {
  return text.includes(':') ? Math.max(0, Date.parse(text) - Date.now()) : NaN
}
