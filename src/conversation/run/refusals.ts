import type { Refusal } from '../../contract/conversation.ts'

export function refuse(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message }
}

export const UNKNOWN = refuse('unknown_conversation', 'There is no such conversation.')
export const DELETED = refuse('conversation_deleted', 'This conversation was deleted.')
export const UNKNOWN_RUN = refuse('unknown_run', 'This conversation has no such run.')
