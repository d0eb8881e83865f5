import type { DefinitionIssue, DefinitionService } from './definition.ts'
import type { ReachedQuota } from './quotas.ts'
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

/**
 * The owner of stored definitions: the edge, whose definitions are there for all tenants, or one tenant, which alone
 * sees and calls its own. Each owner has names, versions and a history of its own.
 */
export type Owner = 'edge' | `${typeof OF_TENANT}${string}`

const OF_TENANT = 'tenant:'

export function tenantOwner(tenant: string): Owner {
  return `${OF_TENANT}${tenant}`
}

/** Returns the place of a stored definition, by which policies (`@…`) and listings name it. */
export function storedPlace(owner: Owner, name: string): string {
  return owner === 'edge' ? `tool:${name}` : `${owner}/${name}`
}

/** Whether a place is that of a definition which a tenant owns. No binding has such a name. */
export function isTenantPlace(place: string): boolean {
  return place.startsWith(OF_TENANT)
}

/**
 * Returns the places by which policies name a tool, one for each of its names: the place of a stored definition ends with
 * the name on offer.
 */
export function placesOf(place: string, [name = '', ...others]: readonly string[]): readonly string[] {
  const isStored = place.endsWith(`:${name}`) || place.endsWith(`/${name}`)
  return [place, ...(isStored ? others.map((other) => place.slice(0, -name.length) + other) : [])]
}

/** A tool as its source lists it now; `hash` covers its whole definition except version and limits. */
export interface ToolFingerprint {
  readonly name: string
  /** The operator's name for its source, such as the binding `TOOL_MCP`. */
  readonly place: string
  /** The server that brings it, if its source has the tools of several. */
  readonly server?: string | undefined
  readonly hash: string
  /** Kept with the hash once it is accepted, so that a person can compare it with a later one. */
  readonly definition?: ToolDefinition
}

/** The accepted version of a tool's definition. */
export interface Acceptance {
  /** The catalogue's revision at which it was accepted; it rises with every write. */
  readonly revision: number
  readonly hash: string
}

/** The catalogue's RPC methods for tools whose definitions it does not store itself. */
export interface AcceptanceService {
  /**
   * Returns the accepted hash of each tool, in the order given. Without `by`, a definition is accepted if it is the
   * first one seen under its name at its place, by any caller; the entry is null if its server has brought too many in
   * one day. With `by`, the definition is accepted and replaces the one accepted before.
   */
  accept(tools: readonly ToolFingerprint[], by?: Author): Promise<readonly (Acceptance | null)[]>
}

/** The accepted definitions of tools, as this edge knows them. */
export interface Acceptances {
  /** Returns the accepted hash of each tool, in order, or why it is not known. Never rejects; an empty list is free. */
  of(tools: readonly ToolFingerprint[]): Promise<readonly AcceptanceLookup[]>
  /** Accepts a definition in place of the one before; seen here at once. Rejects if nothing was recorded. */
  accept(tool: ToolFingerprint, by: Author): Promise<void>
}

export interface AcceptanceLookup {
  readonly hash?: string
  /** Why the hash is not known. */
  readonly fault?: string
}
