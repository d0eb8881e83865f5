import type { ToolDefinition } from '../../src/contract/tool.ts'

/** A definition whose hash is told by what it says. */
export function definitionOf(said: Partial<ToolDefinition> & Pick<ToolDefinition, 'name'>): ToolDefinition {
  const { description = 'Does something.', inputSchema = { type: 'object' }, ...rest } = said
  const hash = JSON.stringify([said.name, description, inputSchema])
  return { description, inputSchema, version: '1', hash, annotations: {}, ...rest }
}
