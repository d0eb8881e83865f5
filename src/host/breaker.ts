import { failure, type Tool, type ToolFailure } from '../contract/tool.ts'
import { OWN_CODES } from './worker/call.ts'

export interface BreakerOptions {
  /** How many calls in a row must fail until a tool is paused. */
  readonly failures: number
  /** How long it is paused, in milliseconds. */
  readonly pauseMs: number
  readonly now?: () => number
}

/**
 * Pauses tools that are down or overloaded (a circuit breaker): after a number of such failures in a row, a tool is not called
 * for a while; then one call may try, and the others are refused until it succeeds. Each isolate counts for each
 * tenant, so that no tenant can pause a tool for another.
 */
export interface Breaker {
  /** Whether any tool has failed since its last success. If not, none is paused. */
  hasFailures(): boolean
  /** Returns until when a tool is paused, in epoch milliseconds; undefined if it is not. */
  pausedUntil(key: string): number | undefined
  /** Returns whether a call may go ahead. The first one after a pause may, and extends the pause for the others. */
  admit(key: string): boolean
  /** Records how a call ended. `waitMs`: for how long what was called asks not to be called; an hour at most counts. */
  record(key: string, isFault: boolean, waitMs?: number): void
}

interface Entry {
  readonly failures: number
  /** In epoch milliseconds. */
  readonly pausedUntil: number
  /** Until when what was called asks not to be called, in epoch milliseconds. */
  readonly askedUntil: number
}

/** The longest pause that a service can ask for, in milliseconds: an hour, by which GitHub counts requests. */
const MOST_WAIT_MS = 3_600_000

/** The most tools, by tenant, whose failures an isolate remembers. */
const MOST_ENTRIES = 10_000

export function createBreaker({ failures: most, pauseMs, now = Date.now }: BreakerOptions): Breaker {
  const entries = new Map<string, Entry>()
  const set = (key: string, entry: Entry) => {
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > MOST_ENTRIES && oldest !== undefined) entries.delete(oldest)
  }
  const endOf = ({ pausedUntil, askedUntil }: Entry) => Math.max(pausedUntil, askedUntil)
  return {
    hasFailures: () => entries.size > 0,
    pausedUntil: (key) => {
      const entry = entries.get(key)
      return entry && endOf(entry) > now() ? endOf(entry) : undefined
    },
    admit: (key) => {
      const entry = entries.get(key)
      if (!entry) return true
      if (endOf(entry) > now()) return false
      if (entry.failures >= most) set(key, { ...entry, pausedUntil: now() + pauseMs })
      return true
    },
    record: (key, isFault, waitMs = 0) => {
      const { failures: count = 0, askedUntil: before = 0 } = entries.get(key) ?? {}
      const askedUntil = Math.max(before, waitMs > 0 ? now() + Math.min(waitMs, MOST_WAIT_MS) : 0)
      // Calls that were sent before the service has asked may still succeed.
      if (!isFault && askedUntil <= now()) return void entries.delete(key)
      const failures = isFault ? count + 1 : 0
      set(key, { failures, askedUntil, pausedUntil: failures < most ? 0 : now() + pauseMs })
    },
  }
}

const REQUEST_OUTAGES = new Set(['http_unreachable', 'http_429', 'http_502', 'http_503', 'http_504'])

/** Matches what Cloudflare answers for an origin that cannot be reached, such as 521. */
const UNREACHABLE_ORIGIN = /^http_5[2-3]\d$/

/**
 * Whether an outcome says that the tool, or what it asks, is down or overloaded. A failure that is answered promptly is
 * none, whatever code it has: errors are how tools talk to models. So a code counts only where no tool can choose it: that
 * of a Worker that is lost is the edge's own (`OWN_CODES`), that of a server is read by the edge, and tools of MCP servers
 * have no codes of their own. A time-out is known to the edge, which ends the call.
 */
export function isOutageOf(
  { error: { code } }: ToolFailure,
  { origin, isRequest }: Pick<Tool, 'origin' | 'isRequest'>,
): boolean {
  if (OWN_CODES.has(code)) return true
  if (isRequest) return REQUEST_OUTAGES.has(code) || UNREACHABLE_ORIGIN.test(code)
  return origin === 'mcp' && (code === 'mcp_timeout' || code === 'mcp_unavailable')
}

/** Returns how long what a tool asks wants to be left alone, in milliseconds, where the edge itself has read it. */
export function askedWaitMs({ error }: ToolFailure, { origin, isRequest }: Pick<Tool, 'origin' | 'isRequest'>): number {
  return isRequest || origin === 'mcp' ? (error.retryAfterMs ?? 0) : 0
}

/** Returns the outcome of a call of a paused tool. */
export function toolPaused(name: string, until: number): ToolFailure {
  const message = `The tool "${name}" was not called: its last calls all failed, and it is not called again before ${timeOf(until)}. Do without it, or say that it is not available at present.`
  const { error } = failure('tool_paused', message)
  return { ok: false, error: { ...error, retryable: true, retryAfterMs: Math.max(0, until - Date.now()) } }
}

export function timeOf(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+/, '')
}
