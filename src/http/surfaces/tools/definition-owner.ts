import type { Context } from 'hono'
import type { StoredTools } from '../../../contract/catalogue.ts'
import type { Caller } from '../../../contract/tool.ts'
import { requireScope } from '../../middleware/auth.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'

export type Whose = 'edge' | 'tenant'

/** Returns whose definitions a request asks for with `?owner=`: those of the edge, or of the caller's tenant. */
export function requestedOwner(c: Context<EdgeEnv>): Whose | undefined {
  const owner = c.req.query('owner')
  if (owner === undefined || owner === 'edge' || owner === 'tenant') return owner
  const message = 'The owner of a definition is "edge" or "tenant".'
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'owner' })
}

export function defaultOwner({ scopes }: Caller): Whose {
  return scopes.includes('tools:admin') ? 'edge' : 'tenant'
}

/** Returns the definitions that a request writes. Throws a Problem 403 if its key may not write those. */
export function definitionsToWrite(c: Context<EdgeEnv>): StoredTools {
  const { caller, setup } = c.env
  const owner = requestedOwner(c) ?? defaultOwner(caller)
  requireScope(caller, owner === 'edge' ? 'tools:admin' : 'tools:write')
  return setup.stored(owner, caller)
}
