import { isObject } from '../../../contract/json.ts'
import type { Content } from '../../../contract/message.ts'
import type { Progress, ToolDefinition, ToolOutcome } from '../../../contract/tool.ts'

/** Converts a tool to an entry of `tools/list`. */
export function toMcpTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: ToolDefinition): object {
  const { readOnly, destructive, idempotent, openWorld } = annotations
  return {
    name,
    title,
    description,
    inputSchema,
    // Clients of older revisions reject a schema of any other type, and the whole list with it.
    outputSchema: outputSchema?.['type'] === 'object' ? outputSchema : undefined,
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
  }
}

/**
 * Converts an outcome to the result of `tools/call`. `anyValue`: whether structured content may be other than an
 * object.
 */
export function toCallResult(outcome: ToolOutcome, { outputSchema }: ToolDefinition, anyValue: boolean): object {
  if (!outcome.ok) return { content: [{ type: 'text', text: outcome.error.message }], isError: true }
  const { structured, metadata } = outcome
  const content = outcome.content.map(toMcpContent)
  const meta = metadata && { _meta: metadata }
  if (isObject(structured) || (anyValue && structured !== undefined))
    return { content, structuredContent: structured, ...meta }
  // With an output schema, clients take a result without a value for a defect of the server; an error reaches the model.
  return outputSchema?.['type'] === 'object' ? { content, isError: true, ...meta } : { content, ...meta }
}

function toMcpContent(part: Content, index: number): object {
  if (part.type === 'text') return part
  const { mediaType: mimeType, data } = part
  if (part.type === 'image') return { type: 'image', mimeType, data }
  if (mimeType.startsWith('audio/')) return { type: 'audio', mimeType, data }
  return { type: 'resource', resource: { uri: `part:${index}`, mimeType, blob: data } }
}

/**
 * Returns a function that converts progress to MCP notifications. MCP requires a number that grows each time; ours may
 * not.
 */
export function progressNotices(progressToken: unknown): (news: Progress) => object {
  let progress = 0
  return ({ message, fraction = 0 }) => {
    progress = Math.max(fraction, progress + LEAST_STEP)
    return { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, total: 1, message } }
  }
}

const LEAST_STEP = 0.001
