import type { Approval, ToolAnnotations } from './tool.ts'

/**
 * What the operator says of some tools, whatever they say of themselves. Where several policies name a tool, all hold: the
 * strictest of each limit, and the annotations of the later one.
 */
export interface ToolPolicy {
  /** Scopes that a caller's key must have, all of them; to others the tool does not exist. */
  readonly scopes?: readonly string[]
  /** Tenants that may use it; to others it does not exist. Default: all. */
  readonly tenants?: readonly string[]
  /** The rate-limit binding that counts its calls, by tenant and tool. */
  readonly rate?: string
  /** Calls at the same time in a run, from 1. */
  readonly concurrency?: number
  /** Milliseconds for one call. */
  readonly timeoutMs?: number
  /** Bytes of a result that a model may see. */
  readonly maxResultBytes?: number
  readonly approval?: Approval
  /** Hosts that a stored tool may reach, of those that the edge allows. */
  readonly hosts?: readonly string[]
  /** Stand in the place of the tool's own: among them whether a call in doubt may be sent again. */
  readonly annotations?: ToolAnnotations
}

/** By the names of tools, with `*` for any text; by tags as `#tag`; by places, such as a binding, as `@TOOL_MAIL`. */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>

/** A rate-limit binding: counts one more of what the key names. */
export interface RateLimit {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>
}
