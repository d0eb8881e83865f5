import type { Approval, ToolAnnotations, ToolDefinition } from './tool-definition.ts'
import type { Tool } from './tool.ts'

/**
 * The operator's rules for some tools, whatever the tools say themselves. If several policies match a tool, all of them
 * hold: the strictest of each limit, and the annotations of the later one.
 */
export interface ToolPolicy {
  /** Scopes that the caller's key must all have; for other callers the tool does not exist. */
  readonly scopes?: readonly string[]
  /** Tenants that may use the tool; for others it does not exist. Default: all. */
  readonly tenants?: readonly string[]
  /** The rate-limit binding that counts its calls, by tenant and tool. */
  readonly rate?: string
  /** The most calls at the same time in one run, from 1. */
  readonly concurrency?: number
  /** The time limit of one call, in milliseconds. */
  readonly timeoutMs?: number
  /** The most bytes of a result that a model sees. */
  readonly maxResultBytes?: number
  /** `decide`: as `always`, but a decision model may approve a call in the person's place, where it is sure enough. */
  readonly approval?: Approval | 'decide'
  /** The groups of people who are asked about calls that need an approval, by their names in the part `approvers`. */
  readonly approvers?: readonly string[]
  /** Hosts that a stored tool may reach, out of those that the edge allows. */
  readonly hosts?: readonly string[]
  /** These override the tool's own annotations, including those that let a call be sent again after a crash. */
  readonly annotations?: ToolAnnotations
}

/**
 * Policies by pattern, in which `*` stands for any text: a tool's name, a tag (`#tag`), or a place such as a binding
 * (`@TOOL_MAIL`).
 */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>

/** What a policy goes by. */
export type PolicySubject = Pick<Tool, 'place' | 'script'> & {
  readonly definition: Pick<ToolDefinition, 'name' | 'ownName' | 'tags' | 'aliasOf'>
}

/** A policy that holds for a tool. */
export interface HoldingPolicy {
  /** The pattern in `TOOL_POLICY` that matches the tool. */
  readonly pattern: string
  /** The rules. Of the annotations of a policy by tag, those alone that make the host more careful. */
  readonly policy: ToolPolicy
  /** The tool behind an alias, if the pattern matches that one. */
  readonly tool?: string
}

/** A rate-limit binding: `limit` counts one use of the key, and succeeds while the key is within its rate. */
export interface RateLimit {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>
}
