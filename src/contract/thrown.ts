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
