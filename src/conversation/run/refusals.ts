import type { Refusal } from '../../contract/conversation.ts'
import { quotaMessage, type ReachedQuota } from '../../contract/quotas.ts'

export function refuse(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message }
}

export function refuseQuota(reached: ReachedQuota): Refusal {
  return { ...refuse('quota_exceeded', quotaMessage(reached)), reached }
}

export const UNKNOWN = refuse('unknown_conversation', 'There is no such conversation.')
export const DELETED = refuse('conversation_deleted', 'This conversation was deleted.')
export const UNKNOWN_RUN = refuse('unknown_run', 'This conversation has no such run.')
