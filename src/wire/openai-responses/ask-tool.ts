import type { ToolDefinition } from '../../contract/tool.ts'
import { encodeOnce } from '../encode-once.ts'
import { toolText, toParameters } from '../strict-schema.ts'

/** Strict only where a tool says so: left out, it would be, and strict schemas have rules that most tools do not keep. */
export const encodeTool = encodeOnce((tool: ToolDefinition) => {
  const { name, description, strict = false } = tool
  return toolText({ type: 'function', name, description, parameters: toParameters(tool), strict })
})
