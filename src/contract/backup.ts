import type { Caller } from './tool.ts'

/** The most bytes of a part of a copy: with its envelope it fits into one message over RPC, of 32 MiB. */
export const MOST_PART_BYTES = 30 * 1024 * 1024

/**
 * The formats of copies, of which an edge reads both. A copy in one part has the first one, which earlier versions read
 * too; a longer one is a sequence of parts, each with its number and the digest of the part before.
 */
export const WHOLE_FORMAT = 1
export const PARTS_FORMAT = 2

/** What a copy shows: the conversation as it stood when the copy began, whatever has happened since. */
export interface CopyMark {
  /** When the conversation was created, in epoch milliseconds; 0 if an earlier version did. */
  readonly created: number
  /** The last place that was in use, and the last run; '' if there was none. */
  readonly place: number
  readonly run: string
  /**
   * The runs that had not ended: the place of each, the number of its last event, how many numbers were reserved, and the
   * number of its messages.
   */
  readonly open: readonly (readonly [place: number, last: number, reserved: number, messages: number])[]
}

/** How far a copy has come. */
export interface CopyPlace {
  readonly mark: CopyMark
  /** The number of the next part, from 1. */
  readonly part: number
  /** The digest of the part before. */
  readonly digest: string
  /** The table of the next row, and the key of the row before it; empty at the beginning of the table. */
  readonly table: string
  readonly after: readonly (string | number)[]
  /** How many texts of the next row are copied already, and if any, by what it is noticed that they have changed. */
  readonly texts: number
  readonly shape?: string
}

/** Asks for a part of a copy. */
export interface CopyRequest {
  readonly do: 'copy'
  readonly from: CopyPlace | 'start'
  /** The conversation, as the signature of the part names it. */
  readonly subject: { readonly tenant: string; readonly id: string }
}

/** A part of a copy that a conversation is to be made of. */
export interface RestoreRequest {
  readonly do: 'restore'
  /** The part, as earlier versions call it. Its memory is released. */
  readonly copy: Uint8Array<ArrayBuffer>
  /** The caller who brings it. */
  readonly caller: Caller
  /** The id of the conversation. */
  readonly id: string
  /** Whether this deployment made the copy, of a conversation of this tenant and id. If not, the caller may have written it. */
  readonly isSigned: boolean
  /** Absent for a copy in one part. */
  readonly digest?: string
  readonly isLast?: boolean
}

/**
 * What is asked of a conversation. `copy`: a part of an exact copy of it, the first for `start`; an earlier version of the
 * edge names none, and gets all of it.
 * `restore`: it is made of a copy, part by part, and cannot be used before the last; runs that had not ended are cancelled
 * in it. `rewind`: it is taken back to a time in epoch milliseconds; runs under way are cancelled, and the object restarts.
 */
export type BackupRequest =
  | CopyRequest
  | { readonly do: 'copy'; readonly from?: never }
  | RestoreRequest
  | { readonly do: 'rewind'; readonly at: number }

export interface BackupReply {
  /** The part that was asked for, signed. It is not a value, since those of RPC stay in memory until they are collected. */
  readonly stream?: ReadableStream<Uint8Array>
  /** Where the next part begins; absent for the last. */
  readonly next?: CopyPlace
  /** A copy for an earlier version of the edge, or from one of the object: in one part, and not signed. */
  readonly copy?: Uint8Array<ArrayBuffer>
  /** The number of the last part that is restored, if the conversation needs others. */
  readonly part?: number
  /** Whether the parts that are restored count as made by this deployment. */
  readonly isSigned?: boolean
}
