import type { JsonSchema } from './json.ts'
import type { Limits } from './limits.ts'
import type { RunRequest, ToolSelection } from './run.ts'
import type { ToolDefinition, ToolTerms } from './tool-definition.ts'
import type { ToolControl, ToolOutcome } from './tool.ts'

/** A model with its own instructions and tools, which other models ask by calling it as a tool. */
export interface AgentOptions extends Omit<ToolTerms, 'history'> {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string
  /** Tells the calling model when to ask this agent. */
  readonly description: string
  /** Its system message. */
  readonly instructions: string
  /** Schema of the arguments it is called with. Default: one string, `question`. */
  readonly input?: JsonSchema
  /** The user message made from the arguments: `{{field}}` stands for the value of a field. Default: `{{question}}`. */
  readonly template?: string
  /** `provider/name`. Default: the default model of the edge. */
  readonly model?: string
  /** Its tools: a list of names, or changes to the edge's default set. Default: none. */
  readonly tools?: ToolSelection
  /** Schema of its answer. If set, the answer is JSON. */
  readonly output?: JsonSchema
  /**
   * Whether its run is stored, in a conversation of its own, if that which calls it is. Then it may wait for people, lasts
   * up to days and survives the loss of either object; the calling run waits for it, and answers continue meanwhile.
   * Default: yes. Otherwise its run is part of the call.
   */
  readonly durable?: boolean
  /**
   * Default: 20 steps and 60 calls. `runMs`: how long its run may take. If that is stored, with all the time in which it
   * waits; by default the `timeoutMs` of the agent or else 24 hours, at most 7 days less a minute. Any other run ends at the
   * deadline of the call.
   */
  readonly limits?: Partial<Limits>
  /**
   * `conversation`: in runs that are stored, the agent remembers what it was asked and has answered in earlier calls. Default: it
   * remembers nothing, as in a run that is not stored.
   */
  readonly memory?: 'conversation'
  /**
   * Whether its finished calls are undone, newest first, if a later call fails: one of its own or, once the agent has
   * finished, one of the run that called it.
   */
  readonly compensate?: boolean
}

/** The run that an agent asks for, without what the calling run adds: its conversation, its place and its budget. */
export interface AgentStart {
  readonly run: RunRequest
  readonly tools: readonly ToolDefinition[]
  /** `conversation`: the run continues the conversation of earlier calls of the agent. Default: it begins one. */
  readonly memory?: 'conversation' | undefined
}

/** The control of a call of an agent of this edge (`startsRuns`). */
export interface AgentControl extends ToolControl {
  /**
   * Starts the run of an agent in a conversation of its own, or finds the one that an earlier attempt at the call has
   * started. Resolves with `later`, or with why there is none. Absent in a run that is not stored.
   */
  readonly startRun?: (start: AgentStart) => Promise<ToolOutcome>
}
