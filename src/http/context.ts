import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** Keeps what is asked of it going after the answer, and after a caller who left. */
export type WaitUntil = (work: Promise<unknown>) => void

/** What every handler finds in its context. */
export interface EdgeEnv {
  Bindings: { setup: Setup; waitUntil: WaitUntil }
  Variables: { setup: Setup; caller: Caller }
}
