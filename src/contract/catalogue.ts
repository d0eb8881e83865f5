import type { DefinitionIssue, DefinitionService } from './definition.ts'
import type { Caller } from './tool.ts'

/** Who wrote: the tenant of a key, and the first digits of its hash. */
export type Author = Pick<Caller, 'tenant' | 'key'>

/** What a version is to those who know the one before it. */
export interface Change {
  /** `breaking`: what was called or read rightly before may not be any more. */
  readonly change: 'created' | 'unchanged' | 'compatible' | 'breaking'
  /** What breaks, and where in the definition. */
  readonly breaks: readonly DefinitionIssue[]
}

/** Under which terms a write is made. */
export interface WriteTerms {
  readonly by: Author
  /** Hashes of which one must be that of the current version, `*` for any. Empty: there must be none. */
  readonly expects?: readonly string[] | undefined
}

/** A version of a definition that is to be the current one. */
export interface VersionWrite extends WriteTerms {
  readonly name: string
  readonly hash: string
  readonly text: string
  /** Whether it is offered by default. */
  readonly offered: boolean
  /** Free text for people. */
  readonly version: string
  readonly action: 'put' | 'rollback'
}

/** Another version is the current one than the writer expected. */
export interface VersionMismatch {
  readonly ok: false
  readonly code: 'version_mismatch'
  /** Hash of the current version; absent where there is none. */
  readonly current?: string
  readonly issues: readonly DefinitionIssue[]
}

export type VersionReply =
  | ({ readonly ok: true; readonly status: 'created' | 'replaced'; readonly revision: number } & Change)
  | VersionMismatch

/** What happened to a name once; `revision` rises with every write of the catalogue. */
export interface HistoryEntry {
  readonly revision: number
  /** `first_seen`, `accept`: the definition of a tool of another source was accepted, by itself or by a person. */
  readonly action: 'put' | 'rollback' | 'delete' | 'first_seen' | 'accept'
  /** Where that tool is, such as the binding `TOOL_MCP`. */
  readonly place?: string
  /** Hash of the version that became the current one, or of what was accepted; absent where it was deleted. */
  readonly hash?: string
  readonly version?: string
  readonly change?: Change['change']
  readonly breaks?: Change['breaks']
  /** Absent for what was first seen. */
  readonly by?: Author
  /** ISO 8601. */
  readonly at: string
}

export interface HistoryPage {
  /** The revision before which to begin. Default: the newest first. */
  readonly before?: number | undefined
  readonly limit: number
}

/**
 * What the catalogue answers over RPC: one object that all writes of an edge's stored definitions go through, one after
 * another. Versions never change and are never lost; a name has one current version, or none.
 */
export interface CatalogueService {
  write(write: VersionWrite): Promise<VersionReply>
  /** The revision of the removal, or undefined where there was nothing to remove. */
  remove(name: string, by: Author): Promise<number | undefined>
  /** What happened to a name, newest first. */
  history(name: string, page: HistoryPage): Promise<readonly HistoryEntry[]>
  /** The text of a version, or undefined. */
  version(name: string, hash: string): Promise<string | undefined>
}

/** What tells a compatible version from a breaking one, besides performing them: the same Worker does both. */
export interface VersionedDefinitions extends DefinitionService {
  /** What the second text is to those who know the first. */
  compare(before: string, after: string): Promise<Change>
}

export type WriteReply =
  | ({ readonly ok: true; readonly status: 'created' | 'replaced'; readonly hash: string } & Change)
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }
  | VersionMismatch

/** The stored definitions with their versions, as their writers see them. */
export interface StoredTools {
  put(name: string, definition: unknown, terms?: WriteTerms): Promise<WriteReply>
  /** Makes an older version the current one, where it may still be stored. Undefined where there is no such version. */
  rollback(name: string, hash: string, terms: WriteTerms): Promise<WriteReply | undefined>
  /** False where there was none. Its versions stay. */
  remove(name: string, by?: Author): Promise<boolean>
  history(name: string, page: HistoryPage): Promise<readonly HistoryEntry[]>
  /** The definition of a version as it was stored, or undefined. */
  version(name: string, hash: string): Promise<unknown>
}
