import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** What every handler finds in its context. */
export interface EdgeEnv {
  Bindings: { setup: Setup }
  Variables: { setup: Setup; caller: Caller }
}

/** A request, and who asks it of which edge. */
export interface Asked {
  readonly setup: Setup
  readonly caller: Caller
  readonly request: Request
}
