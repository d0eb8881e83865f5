import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** Keeps what is asked of it going after the answer, and after a caller who left. */
export type WaitUntil = (work: Promise<unknown>) => void

/** Who asks which edge. */
export interface Asking {
  readonly setup: Setup
  readonly caller: Caller
}

/** A request, and who asks it of which edge. */
export interface Asked extends Asking {
  readonly request: Request
  readonly waitUntil: WaitUntil
}

/** What every handler finds in `c.env`, made for its request. (`c.var` is made anew each time it is read.) */
export interface EdgeEnv {
  Bindings: Omit<Asked, 'request' | 'caller'> & { caller: Caller }
}

interface Handled {
  readonly env: EdgeEnv['Bindings']
  readonly req: { readonly raw: Request }
}

/** What a handler was asked. */
export function askedBy({ env, req }: Handled): Asked {
  return { ...env, request: req.raw }
}
