/**
 * Tells the world that an alarm went off:
 *
 *     POST {NOTIFY_URL}
 *     Idempotency-Key: <id>
 *     { "id", "message", "time", "firedAt", "tenant" }
 *
 * Any 2xx takes it. Anything else, a redirect too, is tried again, so one alarm may arrive more than once: its key is
 * the same each time.
 */
import { withTimeLimit } from '../../src/tool.ts'

export interface Notice {
  readonly id: string
  readonly message: string
  /** ISO 8601, as it was set. */
  readonly time: string
  /** ISO 8601 in UTC. */
  readonly firedAt: string
  readonly tenant: string
}

export const TIMEOUT_MS = 10_000

/** Undefined once the notice was taken, else why not. Never rejects. */
export async function notify(url: string, notice: Notice): Promise<string | undefined> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': notice.id },
    body: JSON.stringify(notice),
    redirect: 'manual',
  } as const
  try {
    return await withTimeLimit(TIMEOUT_MS, async (signal) => {
      const response = await fetch(url, { ...request, signal })
      await response.body?.cancel()
      return response.ok ? undefined : `HTTP ${response.status}`
    })
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Milliseconds to wait after so many attempts, or undefined when that was the last: 2 s, 10 s, 50 s, 4 min, 21 min. */
export function retryDelay(attempts: number): number | undefined {
  return attempts < MOST_ATTEMPTS ? 2000 * 5 ** (attempts - 1) : undefined
}

const MOST_ATTEMPTS = 6
