import type { JsonObject, JsonSchema } from './json.ts'
import type { ProviderForms } from './provider-tool.ts'

/** What a model is told about a tool, and what the host must know to call it. Plain data that crosses RPC and KV. */
export interface ToolDefinition {
  /** `[a-zA-Z0-9_-]{1,64}`, unique among the tools of an edge. */
  readonly name: string
  /** The name that people see. */
  readonly title?: string
  /**
   * The tool's name where it comes from, if `name` was made of it by more than replacing characters: a prefix, another
   * name or a cut. Policies and limits hold by it too.
   */
  readonly ownName?: string
  /** Tells the model when to use the tool and what it answers. The model has nothing else to go by. */
  readonly description: string
  /**
   * How to use the tool, or those of a server together. It is added to the system text of a run that offers the tool; once
   * if several tools have the same text.
   */
  readonly instructions?: string
  /** Schema of the arguments, with `type: "object"` at its root. */
  readonly inputSchema: JsonSchema
  /**
   * Arguments of typical calls, at most 10, which show what a schema cannot: how a text is written, or which optional
   * members belong together. Each must fit `inputSchema`. A provider gets them in its own field, or after the description
   * where it has none.
   */
  readonly inputExamples?: readonly JsonObject[]
  /** Schema of the structured result. A result that does not fit it fails the call (`invalid_output`). */
  readonly outputSchema?: JsonSchema
  /** Free text for people, such as `1.2.0`. */
  readonly version: string
  /** SHA-256 of the canonical JSON of name, description and schemas; opaque to the host. */
  readonly hash: string
  /** Hints about effects, by which the host decides whether a call may be sent again. */
  readonly annotations: ToolAnnotations
  /** Whether a result becomes the run's answer without another model call. Default: never. */
  readonly returnDirect?: 'always' | 'if-last'
  /** Which calls a person must approve. Default: `never`. */
  readonly approval?: Approval
  /**
   * Whether a decision model may approve a call in a person's place: set where the operator's policy says `decide`.
   * Default: no. `approval` is `always` then, for whatever cannot ask such a model.
   */
  readonly modelMayApprove?: true
  /** The time limit of one call, in milliseconds; the host's own limit still holds. */
  readonly timeoutMs?: number
  /** The most bytes of a result that a model sees; the host's own limit still holds. */
  readonly maxResultBytes?: number
  /** Whether calls run one at a time: those of this tool (`true`), or of all tools in the group of that name. */
  readonly exclusive?: boolean | string
  /** The most calls of this tool at the same time in one run, from 1; the host's own limit still holds. */
  readonly maxConcurrent?: number
  /**
   * Whether the tool's `status` can tell what became of a call: asked before a call in doubt is given up or sent again.
   */
  readonly reconcile?: boolean
  /** Whether `undo` can undo a finished call. A run that compensates does so, newest first, when a later call fails. */
  readonly undo?: boolean
  /** Whether calls may be answered later: the run then waits for an outcome that is polled or reported. Default: no. */
  readonly later?: boolean
  /** Whether the tool receives the messages of the conversation in its context. */
  readonly history?: boolean
  /** Whether providers that can should force the model to follow the schema. Default: the provider's own. */
  readonly strict?: boolean
  /** Words by which policies and searches find the tool. */
  readonly tags?: readonly string[]
  /**
   * The tool of a tool Worker that this one calls, if it is an alias. The limits and the concurrency of that tool count
   * its calls too.
   */
  readonly aliasOf?: string
  /** Who may call it: the model itself, or a program that the model has written (code mode). Default: both. */
  readonly callers?: readonly ToolCaller[]
  /** Whether it calls further tools, as an agent does: then the host's policies come with its calls, for these tools. */
  readonly callsTools?: boolean
  /**
   * Whether the provider of the model runs the tool, inside its answer (`providerTools`). The edge never calls it.
   * Default: no.
   */
  readonly atProvider?: true
  /**
   * How the formats of providers declare it, as the caller has. Default: as a function.
   */
  readonly forms?: ProviderForms
  /** Free data for hooks and listings. Models never see it. */
  readonly metadata?: JsonObject
}

/** Who asks for a call: the model itself, or a program that it has written. */
export type ToolCaller = 'model' | 'program'

/** Returns whether a tool may be called by models, or by their programs. */
export function mayCall({ callers }: Pick<ToolDefinition, 'callers'>, caller: ToolCaller): boolean {
  return callers?.includes(caller) ?? true
}

/** What a model reads of a tool. */
export type ModelTool = Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'inputExamples'>

/** Returns the description of a tool with its examples, for whatever has no field for them. */
export function describeTool({
  description,
  inputExamples = [],
}: Pick<ModelTool, 'description' | 'inputExamples'>): string {
  if (inputExamples.length === 0) return description
  return [description, 'Examples of arguments:', ...inputExamples.map((example) => JSON.stringify(example))].join('\n')
}

/** The fields that an author may set beside the name, the description and the schemas, whatever the kind of tool. */
export type ToolTerms = Partial<
  Omit<
    ToolDefinition,
    | ('name' | 'ownName' | 'description' | 'inputSchema' | 'outputSchema' | 'hash')
    | ('reconcile' | 'undo' | 'later' | 'aliasOf' | 'callsTools' | 'atProvider' | 'forms' | 'modelMayApprove')
  >
>

/**
 * Which calls need approval: none, all, or all but those whose arguments meet every condition. Conditions are keyed by
 * JSON Pointers into the arguments.
 */
export type Approval = 'never' | 'always' | { readonly unless: Readonly<Record<string, Condition>> }

/**
 * A condition on one argument, in keywords of JSON Schema; bounds require a number. `like`: patterns, of which the text
 * must match one; `*` stands for any text of one line. A text with control characters matches none.
 */
export interface Condition {
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly like?: readonly string[]
}

/** Hints about effects. An absent hint means unknown, so the host assumes the worst. */
export interface ToolAnnotations {
  readonly readOnly?: boolean
  /** Calls with the same key take effect only once, so the host may send a call again after a crash. */
  readonly idempotent?: boolean
  readonly destructive?: boolean
  readonly openWorld?: boolean
  /** Its results contain text by third parties, which the model is shown as data. Absent: they do not. */
  readonly untrusted?: boolean
  /** Its results contain data that not everybody may see. Absent: they do not. */
  readonly private?: boolean
}
