import type { Author } from './catalogue.ts'
import type { ToolDefinition } from './tool-definition.ts'

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
