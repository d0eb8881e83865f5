import type { Author } from './catalogue.ts'

/** A tool as it was seen: its name, where, and the hash of all that its definition says. */
export interface SeenTool {
  readonly name: string
  /** What the operator knows its source by, such as the binding `TOOL_MCP`. */
  readonly place: string
  readonly hash: string
}

/** The hash that is accepted of a tool. */
export interface Acceptance {
  /** Rises with every write of the catalogue. */
  readonly revision: number
  readonly hash: string
}

/** What the catalogue answers over RPC of the definitions of tools that it does not hold itself. */
export interface AcceptanceService {
  /**
   * What is accepted of each, in their order. Without `by`, a definition is accepted where it is the first that was seen
   * of its name at its place, whoever asks first; null where the place has had too many tools for one more to be
   * remembered. With `by`, it is accepted in the place of the one before.
   */
  accept(tools: readonly SeenTool[], by?: Author): Promise<readonly (Acceptance | null)[]>
}

/** What is accepted of tools, as an edge knows it. */
export interface AcceptedTools {
  /** The accepted hash of each, in their order, or why it cannot be told. Never rejects, and costs nothing for none. */
  of(tools: readonly SeenTool[]): Promise<readonly AcceptedHash[]>
  /** Accepts a definition in the place of the one before; seen here at once. Rejects where nothing was recorded. */
  accept(tool: SeenTool, by: Author): Promise<void>
}

export interface AcceptedHash {
  readonly hash?: string
  /** Why the hash cannot be told. */
  readonly fault?: string
}
