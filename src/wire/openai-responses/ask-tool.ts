import type { ToolDefinition } from '../../contract/tool.ts'
import { encodeOnce } from '../encode-once.ts'
import { withoutChoice } from '../narrow-schema.ts'

/** Strict only where a tool says so: left out, it would be, and strict schemas have rules that most tools do not keep. */
export const encodeTool = encodeOnce(({ name, description, inputSchema, strict = false }: ToolDefinition) =>
  JSON.stringify({ type: 'function', name, description, parameters: withoutChoice(inputSchema), strict }),
)
