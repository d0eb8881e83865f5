import type { ToolDefinition, ToolSource } from '../contract/tool.ts'
import type { DefinedTool } from './define.ts'

/** The definitions of a tool, of several, or of all in a source, in the order in which they stand there. Runs none. */
export async function toolDefinitions<Env>(
  source: DefinedTool<Env> | readonly DefinedTool<Env>[] | ToolSource,
): Promise<readonly ToolDefinition[]> {
  if ('list' in source) return (await source.list()).tools.map((tool) => tool.definition)
  return Promise.all([source].flat().map((tool) => tool.describe()))
}
