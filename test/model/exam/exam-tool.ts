import type { ToolDefinition, ToolOutcome } from '../../../src/contract/tool.ts'

/** What a call that went well did, whatever its tool is called and however it takes its arguments. */
export type Deed =
  | { readonly does: 'clock'; readonly zone: string }
  | { readonly does: 'root'; readonly value: number }
  /** `at`: epoch milliseconds. */
  | { readonly does: 'remind'; readonly at: number; readonly message: string }
  /** `date`: YYYY-MM-DD, of the day that was told of. */
  | {
      readonly does: 'weather'
      readonly place: string
      readonly date: string
      readonly temperatures: readonly number[]
    }
  | { readonly does: 'customer'; readonly id: number }
  | { readonly does: 'something else' }

export type Arguments = Readonly<Record<string, unknown>>

/** A tool on offer, and its part in the play. */
export interface ExamTool {
  readonly definition: ToolDefinition
  perform(args: Arguments): Promise<Performance>
}

export interface Performance {
  readonly outcome: ToolOutcome
  /** Absent where the call failed. */
  readonly deed?: Deed
}
