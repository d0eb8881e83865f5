import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** Keeps work running after the response has been sent or the client has disconnected. */
export type WaitUntil = (work: Promise<unknown>) => void

/** The caller of a request, and the setup of this edge. */
export interface EdgeContext {
  readonly setup: Setup
  readonly caller: Caller
}

/** A request with its caller and this edge's setup. */
export interface RequestContext extends EdgeContext {
  readonly request: Request
  readonly waitUntil: WaitUntil
}

/** The contents of `c.env` in every handler, made for each request. (Hono copies `c.var` each time it is read.) */
export interface EdgeEnv {
  Bindings: Omit<RequestContext, 'request' | 'caller'> & { caller: Caller }
}

interface HandlerContext {
  readonly env: EdgeEnv['Bindings']
  readonly req: { readonly raw: Request }
}

/** Returns the request of a handler's context, with its caller and setup. */
export function requestContext({ env, req }: HandlerContext): RequestContext {
  return { ...env, request: req.raw }
}
