import type { NewsFilter } from '../contract/conversation.ts'
import type { Caller } from '../contract/tool.ts'
import type { RequestContext } from './request-context.ts'
import type { Formats } from './respond/stream.ts'

/** The contents of `c.env` in every handler, made for each request. (Hono copies `c.var` each time it is read.) */
export interface EdgeEnv {
  Bindings: Omit<RequestContext, 'request' | 'caller'> & { caller: Caller; readonly formats: Formats }
}

interface HandlerContext {
  readonly env: EdgeEnv['Bindings']
  readonly req: { readonly raw: Request }
}

/** Returns the request of a handler's context, with its caller and setup. `follow`: see RequestContext. */
export function requestContext({ env, req }: HandlerContext, follow?: NewsFilter): RequestContext {
  return { ...env, request: req.raw, ...(follow && { follow }) }
}
