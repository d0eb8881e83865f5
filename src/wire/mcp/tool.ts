import { isObject } from '../../contract/json.ts'
import type { Content } from '../../contract/message.ts'
import type { Progress, ToolDefinition, ToolOutcome } from '../../contract/tool.ts'

/** A tool as MCP's listings have it. */
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
    // Clients of older revisions fail at a schema of anything else, and with it at the whole list.
    outputSchema: outputSchema?.['type'] === 'object' ? outputSchema : undefined,
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
  }
}

/** An outcome as the result of `tools/call`. `anyValue`: whether a structured value may be something else than an object. */
export function toCallResult(outcome: ToolOutcome, { outputSchema }: ToolDefinition, anyValue: boolean): object {
  if (!outcome.ok) return { content: [{ type: 'text', text: outcome.error.message }], isError: true }
  const content = outcome.content.map(toMcpContent)
  const { structured } = outcome
  if (isObject(structured) || (anyValue && structured !== undefined)) return { content, structuredContent: structured }
  // A client that was promised a value takes a result without one for a broken server; an error it hands to its model.
  return outputSchema?.['type'] === 'object' ? { content, isError: true } : { content }
}

function toMcpContent(part: Content, index: number): object {
  if (part.type === 'text') return part
  const { mediaType: mimeType, data } = part
  if (part.type === 'image') return { type: 'image', mimeType, data }
  if (mimeType.startsWith('audio/')) return { type: 'audio', mimeType, data }
  return { type: 'resource', resource: { uri: `part:${index}`, mimeType, blob: data } }
}

/** Tells of a call's progress in the notifications of MCP, whose count must grow each time, though ours need not. */
export function progressNotices(progressToken: unknown): (news: Progress) => object {
  let progress = 0
  return ({ message, fraction = 0 }) => {
    progress = Math.max(fraction, progress + LEAST_STEP)
    return { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, total: 1, message } }
  }
}

const LEAST_STEP = 0.001
