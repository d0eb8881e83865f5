import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { definitionOf } from './definitions.ts'
import type { ToolRow } from './questions.ts'

export function definitionOfRow([name, description, parameters = {}]: ToolRow): ToolDefinition {
  const properties = Object.entries(parameters).map(([key, text]) => [key, { type: 'string', description: text }])
  return definitionOf({
    name,
    description,
    inputSchema: { type: 'object', properties: Object.fromEntries(properties) },
  })
}

/** Recall: the part of what is wanted that was found. */
export function partFound(wanted: readonly string[], names: readonly string[]): number {
  return wanted.filter((name) => names.includes(name)).length / wanted.length
}
