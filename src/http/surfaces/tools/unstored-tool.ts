import type { Context } from 'hono'
import type { DefinitionIssue } from '../../../contract/definition.ts'
import { isObject } from '../../../contract/json.ts'
import type { Tool } from '../../../contract/tool.ts'
import { edgeName } from '../../../contract/wire-name.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'
import { definitionsToWrite } from './definition-owner.ts'
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
