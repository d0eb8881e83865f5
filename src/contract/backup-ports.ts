import type { ConversationOwner, Refusal } from './conversation.ts'
import type { Limits } from './limits.ts'
import type { Signer } from './signer.ts'

/** What is known of a conversation that has been made of some parts of a copy, and that nobody can use yet. */
export interface UnfinishedRestore {
  /** The number of the last part, and its digest. */
  readonly part: number
  readonly last: string
  /** The digest of the first part. */
  readonly first: string
  readonly isSigned: boolean
  /** The texts of the next row: the id and the number of parts of each. */
  readonly texts: readonly (readonly [id: number, parts: number])[]
  /** Whether the last of these texts has further parts. */
  readonly isOpen: boolean
  /** Whether the conversation was deleted before. */
  readonly wasDeleted: boolean
  /** When it is discarded unless another part comes, in epoch milliseconds. */
  readonly until: number
}

/** The parts of a conversation's object that backups use. */
export interface BackupPorts {
  readonly ctx: Pick<DurableObjectState, 'storage' | 'abort'>
  readonly store: {
    meta(name: 'owner' | 'replacements' | 'restore'): unknown
    setMeta(name: 'deleted' | 'restore', value: unknown): void
    dropMeta(name: 'deleted'): void
    restoring(): UnfinishedRestore | undefined
    create(init: () => void): void
    transaction(work: () => void): void
    deleteAll(): Promise<void>
    deleteForGood(): Promise<void>
    readonly runs: {
      unfinished(): readonly string[]
      parkedFrom(place: number): readonly string[]
      nextPlace(): number
    }
    endCopiedRuns(): void
  }
  readonly life: () => 'none' | 'open' | 'deleted'
  /** Cancels the runs that have not ended, and deletes the conversations of agents that were first called since a time. */
  readonly cancelAll: (since: number) => Promise<void>
  /** Counts the bytes of an unfinished conversation for its tenant until a time, or refuses it if there is no room. */
  readonly countBytes: (owner: ConversationOwner, bytes: number, until: number) => Promise<Refusal | undefined>
  /** The limits of the edge. */
  readonly limits: Limits
  /** Signs copies; undefined for an edge without a secret. */
  readonly signer: Signer | undefined
  readonly alarms: {
    create(owner: ConversationOwner, init: () => void): Promise<void>
    restore(): Promise<void>
    touch(): void
  }
}
