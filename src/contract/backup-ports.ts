import type { ConversationOwner } from './conversation.ts'
import type { Limits } from './limits.ts'

/** The parts of a conversation's object that backups use. */
export interface BackupPorts {
  readonly ctx: Pick<DurableObjectState, 'storage' | 'abort'>
  readonly store: {
    meta(name: 'owner'): unknown
    deleteAll(): Promise<void>
    deleteForGood(): Promise<void>
    readonly runs: { unfinished(): readonly string[] }
    endCopiedRuns(): void
  }
  readonly life: () => 'none' | 'open' | 'deleted'
  /** Cancels the runs that have not ended, and deletes the conversations of agents that were first called since a time. */
  readonly cancelAll: (since: number) => Promise<void>
  /** The limits of the edge. */
  readonly limits: Limits
  readonly alarms: {
    create(owner: ConversationOwner, init: () => void): Promise<void>
    restore(): Promise<void>
    touch(): void
  }
}
