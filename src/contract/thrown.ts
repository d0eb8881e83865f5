import { isObject } from './json.ts'

/** Returns a thrown value as text for operators. Over RPC it may be of any type. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'string') return error
  try {
    return JSON.stringify(error) ?? 'nothing was said'
  } catch {
    return 'an error that cannot be shown'
  }
}

/** Returns a thrown value as text for operators: the stack of an error, if there is one. */
export function textOfThrown(error: unknown): string {
  try {
    if (error instanceof Error) return error.stack ?? error.message
    return isObject(error) ? JSON.stringify(error) : String(error)
  } catch {
    return 'an error that cannot be shown'
  }
}

/** How the runtime words the loss of an object or a Worker, for errors without properties. */
const LOST =
  /connection lost|reset because|was reset|object.* reset|no longer (?:exists|valid)|internal error; reference/i

/** Returns whether an error says that an object or a Worker was lost, so that another instance can answer. */
export function isLoss(error: unknown): boolean {
  const { retryable, durableObjectReset } = Object(error)
  return retryable === true || durableObjectReset === true || LOST.test(messageOf(error))
}

/** How SQLite words that a database is not as it was written: tables, columns or pages are missing or are others. */
const DAMAGED =
  /no such (?:table|column)|disk image is malformed|malformed database schema|is not a database|SQLITE_(?:CORRUPT|NOTADB)|datatype mismatch/i

/** Returns whether an error says that what an object stores cannot be read any more. */
export function isDamage(error: unknown): boolean {
  return DAMAGED.test(messageOf(error))
}

/** How the runtime words that it stopped a Worker. */
const STOPPED = /exceeded (?:its )?(?:CPU|memory)|code had hung|never generate a response/i

/** Returns whether an error says that a Worker was lost, stopped or overloaded, and not that its code threw. */
export function isOutage(error: unknown): boolean {
  return isLoss(error) || Object(error).overloaded === true || STOPPED.test(messageOf(error))
}

/** A fault for operators: of a model with `model`, of a call with `callId`, or else of a hook or an observer. */
export interface RunFault {
  readonly model?: string
  readonly callId?: string
  readonly tool?: string
  readonly code: string
  /** The HTTP status of the provider, if there was one. */
  readonly status?: number
  /** How many requests were made to the model, or how often the call was sent. */
  readonly attempts?: number
  readonly durationMs?: number
  /** Whether the model is asked again. Default: no. */
  readonly isRetried?: boolean
  readonly detail?: string
}

/** A fault as a conversation stores it. */
export interface StoredFault extends RunFault {
  /** When it was reported, in epoch milliseconds. */
  readonly at: number
  /** The step in which it happened; absent before the first one. */
  readonly step?: number
}
