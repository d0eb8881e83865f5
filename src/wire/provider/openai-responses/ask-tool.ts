import type { ToolDefinition } from '../../../contract/tool.ts'
import { encodeOnce } from '../../encode-once.ts'
import { toolText, toParameters } from '../strict-schema.ts'

/** Encodes a tool. `strict` is always sent: it defaults to true, and most tools break the rules of strict schemas. */
export const encodeTool = encodeOnce((tool: ToolDefinition) => {
  const { name, description, strict = false } = tool
  return toolText({ type: 'function', name, description, parameters: toParameters(tool), strict })
})
