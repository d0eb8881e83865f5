import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** Keeps what is asked of it going after the answer, and after a caller who left. */
export type WaitUntil = (work: Promise<unknown>) => void

/** What every handler finds in its context. */
export interface EdgeEnv {
  Bindings: { setup: Setup; waitUntil: WaitUntil }
  Variables: { setup: Setup; caller: Caller }
}

/** A request, and who asks it of which edge. */
export interface Asked {
  readonly setup: Setup
  readonly caller: Caller
  readonly request: Request
  readonly waitUntil: WaitUntil
}

interface Handled {
  readonly var: EdgeEnv['Variables']
  readonly env: EdgeEnv['Bindings']
  readonly req: { readonly raw: Request }
}

/** What a handler was asked. */
export function askedBy({ var: { setup, caller }, env: { waitUntil }, req }: Handled): Asked {
  return { setup, caller, request: req.raw, waitUntil }
}
