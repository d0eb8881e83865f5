import type { Launched } from './launched.ts'

export type RunPlace = Pick<Launched, 'runId' | 'conversation' | 'replayed' | 'joined'>

/** What every answer with a run tells of it, whatever its form. */
export function runHeaders({ runId, conversation, replayed, joined }: RunPlace): Record<string, string> {
  return {
    'x-run-id': runId,
    ...(conversation !== undefined && { 'x-conversation-id': conversation }),
    ...(replayed === true && { 'idempotent-replayed': 'true' }),
    ...(joined === true && { 'x-run-joined': 'true' }),
  }
}
