import type { JsonSchema } from './json.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { ToolControl, ToolOutcome, ToolRequest } from './tool.ts'

/** A problem in a definition that is to be stored: where it is, and what to change. */
export interface DefinitionIssue {
  readonly path: string
  readonly message: string
}

/** The hosts that stored tools may reach, each with the secrets that may go there (`HTTP_TOOL_HOSTS`). */
export type ToolHosts = Readonly<Record<string, readonly string[]>>

/** A definition as it is stored: its text, and metadata that tells what is offered by default. */
export interface StoredDefinition {
  readonly text: string
  readonly metadata: { readonly default: boolean; readonly hash: string }
}

/** A stored definition that has been read and can be used. */
export interface UsableDefinition {
  readonly definition: ToolDefinition
  readonly offered: boolean
  /** The tool of a tool Worker that this definition presents under its own name and description. */
  readonly alias?: { readonly binding: string; readonly call: string }
  /** The tool of a Worker in the dispatch namespace: the name of its script, and the tool's name and hash there. */
  readonly worker?: { readonly script: string; readonly tool: string; readonly hash: string }
  /** Whether its calls are HTTP requests that the definition describes. */
  readonly isRequest?: true
  /** The names of the secrets that its calls need. */
  readonly secrets: readonly string[]
  /** The definition as it was stored; opaque to the edge. */
  readonly stored: unknown
}

/** What the edge grants to one call. */
export interface DefinitionGrant {
  readonly hosts: ToolHosts
  readonly secrets: Readonly<Record<string, string>>
}

/**
 * Checks and performs stored definitions in a Worker of its own whose bindings reach nothing: what a definition can
 * reach is what the edge grants to one call. Contract: plain data; never rejects for an invalid definition or a failed
 * call.
 */
export interface DefinitionService {
  /** Checks a definition that is to be stored under a name, and returns the form to store. */
  write(
    name: string,
    definition: unknown,
    hosts: ToolHosts,
  ): Promise<
    | {
        readonly ok: true
        readonly kept: StoredDefinition
        readonly read: UsableDefinition
        /** What is stored and has less effect than its author may expect, such as a pattern that is never checked. */
        readonly warnings?: readonly DefinitionIssue[]
      }
    | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }
  >
  /** Reads what was stored under these names. For a definition that cannot be used the entry is the reason. */
  read(
    definitions: readonly { readonly name: string; readonly text: string }[],
    hosts: ToolHosts,
  ): Promise<readonly (UsableDefinition | string)[]>
  /**
   * Validates the arguments, performs the call and validates its result. Undefined for an alias, or the tool of a Worker
   * in the dispatch namespace, whose arguments are valid: the edge calls the tool behind it.
   */
  call(
    stored: unknown,
    request: ToolRequest,
    grant: DefinitionGrant,
    control: ToolControl,
  ): Promise<ToolOutcome | undefined>
  /**
   * Returns the outcome of a tool, or the failure `invalid_output` if it does not fit the tool's output schema. By a
   * schema that cannot be used, nothing is checked.
   */
  checkOutcome(definition: Pick<ToolDefinition, 'name' | 'outputSchema'>, outcome: ToolOutcome): Promise<ToolOutcome>
  /** Returns what in a value violates a JSON Schema; empty if nothing does. No value fits an invalid schema. */
  validate(schema: JsonSchema, value: unknown): Promise<readonly DefinitionIssue[]>
}
