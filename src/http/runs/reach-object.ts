import type { ConversationService } from '../../contract/conversation.ts'
import { isLoss, messageOf } from '../../contract/thrown.ts'
import { pause } from '../../contract/pause.ts'
import type { Report } from '../../contract/setup.ts'
import { Problem } from '../problem.ts'

/** How often a request is sent to an object that is lost again and again, in all. */
const MOST_ATTEMPTS = 3
const FIRST_PAUSE_MS = 100
/** When a caller may retry, in milliseconds. */
const OVERLOAD_RETRY_MS = 5000
const LOSS_RETRY_MS = 1000

/** The error code of a conversation whose object was lost again and again. */
export const LOST_CODE = 'conversation_lost'

/** The methods that must not be repeated: if an answer is lost, it is unknown whether they took effect. */
const ONCE: ReadonlySet<string> = new Set<keyof ConversationService>(['answer', 'retry'])

/**
 * Calls a method of an object. If the object is lost, another stub is asked, up to three times in all; an overloaded
 * object is not asked again at once. Throws a Problem 503 that says when to retry. Repeating a request is safe:
 * a start is recognized by the id of its run.
 */
export async function reachObject<Result>(
  method: string,
  call: () => Promise<Result>,
  report: Report,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      const isOverloaded = Object(error).overloaded === true
      if (!isOverloaded && !isLoss(error)) throw error
      const mayRepeat = !ONCE.has(method)
      if (!isOverloaded && mayRepeat && attempt < MOST_ATTEMPTS) {
        await pause(Math.random() * FIRST_PAUSE_MS * 2 ** attempt)
        continue
      }
      report({
        event: isOverloaded ? 'conversation.overloaded' : 'conversation.lost',
        method,
        detail: messageOf(error),
      })
      throw isOverloaded ? overloaded() : lost(mayRepeat)
    }
  }
}

/**
 * Returns the Problem of a request that failed because an object other than a conversation, such as a directory or a
 * catalog, is overloaded or was lost; undefined for any other error. `method`: that of the request. A POST that was lost
 * may have taken effect.
 */
export function objectProblem(error: unknown, method: string): Problem | undefined {
  if (Object(error).overloaded === true) {
    return new Problem({
      status: 503,
      code: 'overloaded',
      message: 'A part of the edge has more requests than it can answer. Send the request again later.',
      retryAfterMs: OVERLOAD_RETRY_MS,
      mayRetry: true,
    })
  }
  if (!isLoss(error)) return undefined
  const mayRetry = method !== 'POST'
  return new Problem({
    status: 503,
    code: 'connection_lost',
    message: mayRetry
      ? 'The connection to a part of the edge was lost. Send the request again.'
      : 'The connection to a part of the edge was lost, perhaps after the request had taken effect.',
    retryAfterMs: LOSS_RETRY_MS,
    mayRetry,
  })
}

function overloaded(): Problem {
  return new Problem({
    status: 503,
    code: 'conversation_overloaded',
    message: 'This conversation has more requests than it can answer. Send the request again later.',
    retryAfterMs: OVERLOAD_RETRY_MS,
    mayRetry: true,
  })
}

function lost(mayRepeat: boolean): Problem {
  return new Problem({
    status: 503,
    code: LOST_CODE,
    message: mayRepeat
      ? 'The connection to this conversation was lost. Send the request again.'
      : 'The connection to this conversation was lost, perhaps after the request had taken effect. Read the run first.',
    retryAfterMs: LOSS_RETRY_MS,
    mayRetry: mayRepeat,
  })
}
