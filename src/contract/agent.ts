import type { JsonSchema } from './json.ts'
import type { Limits } from './limits.ts'
import type { ToolSelection } from './run.ts'
import type { ToolTerms } from './tool.ts'

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
  /** Default: 20 steps and 60 calls. Its run ends at the deadline of the call at the latest. */
  readonly limits?: Partial<Limits>
  /**
   * Whether its finished calls are undone, newest first, if a later call fails: one of its own or, once the agent has
   * finished, one of the run that called it.
   */
  readonly compensate?: boolean
}
