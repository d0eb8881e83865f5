/**
 * Notifies the service at NOTIFY_URL that an alarm has fired:
 *
 *     POST {NOTIFY_URL}
 *     Idempotency-Key: <id>
 *     { "id", "message", "time", "firedAt", "tenant" }
 *
 * Any 2xx accepts the notice. After anything else, redirects included, it is sent again, so a notice may arrive more
 * than once, always with the same key.
 */
import { withTimeLimit } from 'edgecall/tool'

export interface Notice {
  readonly id: string
  readonly message: string
  /** The time that the alarm was set for, in ISO 8601 as it was written. */
  readonly time: string
  /** ISO 8601 in UTC. */
  readonly firedAt: string
  readonly tenant: string
}

export const TIMEOUT_MS = 10_000

/** Sends a notice. Resolves with undefined if it was accepted, else with the reason why not. Never rejects. */
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

/**
 * Returns the delay before the next attempt, in milliseconds (2 s, 10 s, 50 s, 4 min, 21 min), or undefined if the last
 * attempt was made.
 */
export function retryDelay(attempts: number): number | undefined {
  return attempts < MOST_ATTEMPTS ? 2000 * 5 ** (attempts - 1) : undefined
}

const MOST_ATTEMPTS = 6
