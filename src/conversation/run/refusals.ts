import type { Refusal } from '../../contract/conversation.ts'
import { quotaMessage, type ReachedQuota } from '../../contract/quotas.ts'

export function refusalOf(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message }
}

export function refuseQuota(reached: ReachedQuota): Refusal {
  return { ...refusalOf('quota_exceeded', quotaMessage(reached)), reached }
}

export const UNKNOWN = refusalOf('unknown_conversation', 'There is no such conversation.')
export const DELETED = refusalOf('conversation_deleted', 'This conversation was deleted.')
export const PARKED = refusalOf('run_parked', 'This run is parked. Retry it before you answer its calls.')
export const UNKNOWN_RUN = refusalOf('unknown_run', 'This conversation has no such run.')
