import type { ToolDefinition, ToolSource } from '../contract/tool.ts'
import type { DefinedTool } from './define.ts'

/**
 * Returns the definitions of a tool, of several tools, or of all tools of a source, in their order. Runs no tool.
 *
 * @example
 * const [definition] = await toolDefinitions(tool)
 */
export async function toolDefinitions<Env>(
  source: DefinedTool<Env> | readonly DefinedTool<Env>[] | ToolSource,
): Promise<readonly ToolDefinition[]> {
  if ('list' in source) return (await source.list()).tools.map((tool) => tool.definition)
  return Promise.all([source].flat().map((tool) => tool.describe()))
}
