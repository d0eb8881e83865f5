import type { RunHandle } from './run-handle.ts'

export type RunRef = Pick<RunHandle, 'runId' | 'conversation' | 'replayed' | 'joined'>

/** Returns the headers of every response with a run, in all formats. */
export function runHeaders({ runId, conversation, replayed, joined }: RunRef): Record<string, string> {
  return {
    'x-run-id': runId,
    ...(conversation !== undefined && { 'x-conversation-id': conversation }),
    ...(replayed === true && { 'idempotent-replayed': 'true' }),
    ...(joined === true && { 'x-run-joined': 'true' }),
  }
}
