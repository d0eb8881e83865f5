import type { Caller } from './tool.ts'

/** The most bytes of a copy of a conversation: with its envelope it fits into one message over RPC, of 32 MiB. */
export const MOST_COPY_BYTES = 30 * 1024 * 1024

/** A copy that a conversation is to be made of. */
export interface RestoreRequest {
  readonly do: 'restore'
  readonly copy: Uint8Array
  /** The caller who brings it. */
  readonly caller: Caller
  /** The id of the conversation. */
  readonly id: string
  /** Whether this deployment made the copy, of a conversation of this tenant and id. If not, the caller may have written it. */
  readonly isSigned: boolean
}

/**
 * What is asked of a conversation. `copy`: an exact copy of it. `restore`: it is made of a copy, all or nothing; runs that
 * had not ended are cancelled in it. `rewind`: it is taken back to a time in epoch milliseconds; runs under way are
 * cancelled, and the object restarts.
 */
export type BackupRequest = { readonly do: 'copy' } | RestoreRequest | { readonly do: 'rewind'; readonly at: number }

/** `copy`: the copy that was asked for. */
export interface BackupReply {
  readonly copy?: Uint8Array
}
