import type { ToolDefinition } from '../../src/contract/tool-definition.ts'

/** A definition whose hash is told by what it says. */
export function definitionOf(fields: Partial<ToolDefinition> & Pick<ToolDefinition, 'name'>): ToolDefinition {
  const { description = 'Does something.', inputSchema = { type: 'object' }, ...rest } = fields
  const hash = JSON.stringify([fields.name, description, inputSchema])
  return { description, inputSchema, version: '1', hash, annotations: {}, ...rest }
}
