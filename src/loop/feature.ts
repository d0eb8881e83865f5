import type { Tool } from '../contract/tool.ts'
import type { Running } from './running.ts'
import type { CallState, FeatureRules } from './state.ts'

/**
 * A feature of the loop: its facts, and how it performs the calls of its tools. The rules of calls stay those of the loop,
 * whatever a feature does.
 */
export interface LoopFeature extends FeatureRules {
  /** Whether it performs the calls of a tool, in place of the loop. Default: it performs none. */
  readonly performs?: (tool: Tool) => boolean
  /** Performs a call. `add`: adds calls of the run to those that are being performed. */
  readonly perform?: (running: Running, call: CallState, add: (call: CallState) => void) => Promise<void>
}

// Contract knows the setup of a loop, and nothing of what performs it.
declare module '../contract/hook.ts' {
  interface LoopSetup {
    /** Default: none. */
    readonly features?: readonly LoopFeature[] | undefined
  }
}
