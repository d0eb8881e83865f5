import type { JsonSchema } from './json.ts'
import type { Limits, ToolSelection } from './run.ts'
import type { ToolAnnotations } from './tool.ts'

/** A model with instructions and tools of its own, that others ask as they call a tool. */
export interface AgentOptions {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string
  /** When to ask it, for the model that does. */
  readonly description: string
  /** Its system message. */
  readonly instructions: string
  /** Schema of what it is asked with. Default: one text, `question`. */
  readonly input?: JsonSchema
  /** What its model reads of that: `{{field}}` stands for a field's value. Default: `{{question}}`. */
  readonly template?: string
  /** `provider/name`. Default: the edge's own. */
  readonly model?: string
  /** Its tools: names, or the edge's default set edited. Default: none. */
  readonly tools?: ToolSelection
  /** Schema of its answer, which is JSON then. */
  readonly output?: JsonSchema
  /** Default: 20 steps and 60 calls; it has as long as the call that asks it. */
  readonly limits?: Partial<Limits>
  /** Undo its finished calls where one of them fails. What a finished agent did stays, whatever fails later. */
  readonly compensate?: boolean
  /** Whether its answer is the answer of whoever asks it. Default: never. */
  readonly returnDirect?: 'always' | 'if-last'
  readonly annotations?: ToolAnnotations
  readonly timeoutMs?: number
  readonly tags?: readonly string[]
}
