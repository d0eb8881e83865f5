import type { DefinitionIssue, DefinitionService } from './definition.ts'
import type { ReachedQuota } from './quotas.ts'
import type { Owner } from './owner.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { Caller, Tool } from './tool.ts'

/** The author of a write: the tenant of an API key, and the first digits of the key's hash. */
export type Author = Pick<Caller, 'tenant' | 'key'>

/** How a version differs from the one before it, for callers who rely on the earlier one. */
export interface Change {
  /** `breaking`: what callers could rely on in the earlier version (calls, results, effects) may no longer hold. */
  readonly change: 'created' | 'unchanged' | 'compatible' | 'breaking'
  /** The breaking differences, and where they are in the definition. */
  readonly breaks: readonly DefinitionIssue[]
}

/** The author and the precondition of a write. */
export interface WriteTerms {
  readonly by: Author
  /** The hashes that the current version may have, `*` for any. Empty: the name must be free. Default: no condition. */
  readonly expects?: readonly string[] | undefined
}

/** A version of a definition that is to become the current one. */
export interface VersionWrite extends WriteTerms {
  /** The owner of the catalogue that is written to, which its copy in KV is named after. Default: `edge`. */
  readonly owner?: Owner
  readonly name: string
  readonly hash: string
  readonly text: string
  /** Whether the tool belongs to the default set. */
  readonly offered: boolean
  /** The most names that the owner's catalogue may hold, and the most bytes. Default: no limit. */
  readonly most?: { readonly names: number; readonly bytes: number } | undefined
  /** Free text for people. */
  readonly version: string
  readonly action: 'put' | 'rollback'
}

/** The write was refused: the current version is not one that the writer expected. */
export interface VersionMismatch {
  readonly ok: false
  readonly code: 'version_mismatch'
  /** Hash of the current version; absent if there is none. */
  readonly current?: string
  readonly issues: readonly DefinitionIssue[]
}

export type VersionReply =
  | ({ readonly ok: true; readonly status: 'created' | 'replaced'; readonly revision: number } & Change)
  | VersionMismatch
  | QuotaRefusal

/** The answer to a write for which the owner's catalogue has no room. */
export interface QuotaRefusal extends ReachedQuota {
  readonly ok: false
  readonly code: 'quota_exceeded'
}

/** An entry in the history of a name; `revision` rises with every write of the catalogue. */
export interface HistoryEntry {
  readonly revision: number
  /** `first_seen`, `accept`: the definition of another source's tool was accepted, as the first one or by a person. */
  readonly action: 'put' | 'rollback' | 'delete' | 'first_seen' | 'accept'
  /** The source of that tool, such as the binding `TOOL_MCP`. */
  readonly place?: string
  /** Hash of the version that became current, or of the accepted definition; absent for a deletion. */
  readonly hash?: string
  readonly version?: string
  readonly change?: Change['change']
  readonly breaks?: Change['breaks']
  /** Absent for `first_seen`. */
  readonly by?: Author
  /** ISO 8601. */
  readonly at: string
}

export interface HistoryPage {
  /** Only entries before this revision are returned. Default: from the newest on. */
  readonly before?: number | undefined
  readonly limit: number
}

/**
 * The catalogue's RPC methods. Each owner has one object, which takes all writes of its definitions, one after another.
 * Versions never change and are never lost; a name has one current version, or none.
 */
export interface CatalogueService {
  write(write: VersionWrite): Promise<VersionReply>
  /** Returns the revision of the removal, or undefined if there was nothing to remove. */
  remove(name: string, by: Author): Promise<number | undefined>
  /** Returns the history of a name, newest first. */
  history(name: string, page: HistoryPage): Promise<readonly HistoryEntry[]>
  /** Returns the text of a version, or undefined if there is none. */
  version(name: string, hash: string): Promise<string | undefined>
  /** Returns the number of names that have a current version. */
  size(): Promise<number>
}

/** The service of the definitions Worker, which also tells compatible versions from breaking ones. */
export interface VersionedDefinitions extends DefinitionService {
  /** Compares a new version with the one before it; both are the stored text of a definition. */
  compare(before: string, after: string): Promise<Change>
}

export type WriteReply =
  | ({
      readonly ok: true
      readonly status: 'created' | 'replaced'
      readonly hash: string
      /** What is stored and has less effect than its author may expect. */
      readonly warnings: readonly DefinitionIssue[]
    } & Change)
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }
  | VersionMismatch
  | QuotaRefusal

/** A definition that could be stored, and what storing it would change. */
export type CheckReply =
  | (Change & {
      readonly ok: true
      /** The definition with all that the edge adds to it. */
      readonly definition: ToolDefinition
      readonly warnings: readonly DefinitionIssue[]
      /** The tool as it would be called; undefined if the caller may not call it. */
      readonly tool: Tool | undefined
    })
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }

/** The stored definitions and their versions, as their writers use them. */
export interface StoredTools {
  /** Checks a definition as `put` does, and stores nothing. */
  check(name: string, definition: unknown): Promise<CheckReply>
  put(name: string, definition: unknown, terms?: WriteTerms): Promise<WriteReply>
  /** Makes an older version current again, if it may still be stored. Undefined if there is no such version. */
  rollback(name: string, hash: string, terms: WriteTerms): Promise<WriteReply | undefined>
  /** Removes the current version. False if there was none. All versions stay in the history. */
  remove(name: string, by?: Author): Promise<boolean>
  history(name: string, page: HistoryPage): Promise<readonly HistoryEntry[]>
  /** Returns the definition of a version as it was stored, or undefined if there is none. */
  version(name: string, hash: string): Promise<unknown>
  /** Returns the number of stored definitions, as the catalogue counts them. */
  count(): Promise<number>
}
