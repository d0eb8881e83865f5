import type { Context } from 'hono'
import type { StoredTools } from '../../../contract/catalogue.ts'
import type { DefinitionIssue } from '../../../contract/definition.ts'
import { isObject } from '../../../contract/json.ts'
import { edgeName } from '../../../contract/tool-names.ts'
import type { Caller, Tool } from '../../../contract/tool.ts'
import type { EdgeEnv } from '../../context.ts'
import { requireScope } from '../../middleware/auth.ts'
import { Problem } from '../../problem.ts'
import { unknownToolProblem } from './find-tool.ts'

/**
 * Returns the tool of a definition that is not stored. Throws as storing it would, and a Problem 404 if the caller may
 * not call it.
 */
export async function unstoredTool(c: Context<EdgeEnv>, name: string, definition: unknown): Promise<Tool> {
  const reply = await definitionsToWrite(c).check(name, withEdgeName(definition))
  if (!reply.ok) throw invalidDefinition(reply.issues)
  if (!reply.tool) throw unknownToolProblem(name)
  return reply.tool
}

/** Renames a definition whose name providers would refuse to its wire name; its own name is then its default title. */
export function withEdgeName(definition: unknown): unknown {
  if (!isObject(definition) || typeof definition.name !== 'string') return definition
  const name = edgeName(definition.name)
  return name === definition.name ? definition : { title: definition.name, ...definition, name }
}

export function invalidDefinition(issues: readonly DefinitionIssue[]): Problem {
  return new Problem({ status: 422, code: 'invalid_definition', message: refusalText(issues), extra: { issues } })
}

export function refusalText(issues: readonly DefinitionIssue[]): string {
  const problems = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  return `The definition was not stored: ${problems}`
}

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
