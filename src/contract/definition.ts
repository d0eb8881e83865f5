import type { JsonSchema } from './json.ts'
import type { ToolControl, ToolDefinition, ToolOutcome, ToolRequest } from './tool.ts'

/** Problems of a definition that was to be stored: where in it, and what to change. */
export interface DefinitionIssue {
  readonly path: string
  readonly message: string
}

/** Hosts that stored tools may reach, and which secrets may go there (`HTTP_TOOL_HOSTS`, API.md §0). */
export type ToolHosts = Readonly<Record<string, readonly string[]>>

/** What is kept of a definition: its text, and in its metadata enough to know what is offered by default. */
export interface KeptDefinition {
  readonly text: string
  readonly metadata: { readonly default: boolean; readonly hash: string }
}

/** A definition that can be used. */
export interface ReadDefinition {
  readonly definition: ToolDefinition
  readonly offered: boolean
  /** The tool of a tool Worker that it gives another face. */
  readonly face?: { readonly binding: string; readonly call: string }
  /** Names of the secrets that its calls need. */
  readonly secrets: readonly string[]
  /** As it was stored; opaque to the edge. */
  readonly stored: unknown
}

/** What the edge lends to one call. */
export interface DefinitionGrant {
  readonly hosts: ToolHosts
  readonly secrets: Readonly<Record<string, string>>
}

/**
 * Checks and performs stored definitions, in a Worker of its own that reaches nothing by its bindings: what a definition reaches, it
 * reaches from there, with what the edge lends to that one call. Contract: plain data; never rejects for a bad
 * definition or a failed call.
 */
export interface DefinitionService {
  /** Checks a definition that is to be stored under a name, and gives what is to be kept. */
  write(
    name: string,
    definition: unknown,
    hosts: ToolHosts,
  ): Promise<
    | { readonly ok: true; readonly kept: KeptDefinition; readonly read: ReadDefinition }
    | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }
  >
  /** What was kept under these names; in the place of one that is of no use, the reason. */
  read(
    kept: readonly { readonly name: string; readonly text: string }[],
    hosts: ToolHosts,
  ): Promise<readonly (ReadDefinition | string)[]>
  /**
   * Validates the arguments, performs the call, and validates its result. Undefined for a face: its arguments fit, and its
   * tool is elsewhere.
   */
  call(
    stored: unknown,
    request: ToolRequest,
    grant: DefinitionGrant,
    control: ToolControl,
  ): Promise<ToolOutcome | undefined>
  /** What the tool of a face answered, if that fits the face's `outputSchema`; else the failure. */
  held(stored: unknown, outcome: ToolOutcome): Promise<ToolOutcome>
  /** What of a value does not fit a JSON Schema; nothing where all does. A schema that is unsound fits nothing. */
  validate(schema: JsonSchema, value: unknown): Promise<readonly DefinitionIssue[]>
}
