import { isObject } from './json.ts'
import type { Tool } from './tool.ts'

/**
 * Whether models, or the apps of MCP clients, may call a tool of an MCP server, by the `visibility` in its `metadata.ui`
 * (MCP Apps). By tools that neither may call, the edge itself reads from the server. Default: both may.
 */
export function isFor(
  audience: 'model' | 'app',
  { origin, definition: { metadata } }: Pick<Tool, 'origin' | 'definition'>,
): boolean {
  const ui = metadata?.['ui']
  const visibility = isObject(ui) && ui['visibility']
  return origin !== 'mcp' || !Array.isArray(visibility) || visibility.includes(audience)
}
