import type { Tool } from '../../../contract/tool.ts'
import { fieldsOf, textAt } from '../../fields.ts'
import { CLIENT_CAPABILITIES, type McpMessage } from './message.ts'
import { addressHere } from './resource.ts'

/** MCP Apps, the extension by which a tool has a page that clients show with its results. */
export const UI = 'io.modelcontextprotocol/ui'

/** What a tool says of apps: the address of its page here, and who may call it. Default: both models and apps. */
export interface ToolUi {
  readonly resourceUri?: string
  readonly visibility?: unknown
}

/** Returns the server of a tool that `tools/mcp` brings in; undefined for any other tool, whatever its metadata says. */
export function serverOf({ origin, definition }: Tool): string | undefined {
  return origin === 'mcp' ? textAt(definition.metadata, 'server') || undefined : undefined
}

/** Returns what a tool of a server says of apps, with the address that its page has here. */
export function uiOf(tool: Tool): ToolUi | undefined {
  const server = serverOf(tool)
  const ui = tool.definition.metadata?.['ui']
  if (server === undefined || ui === undefined) return undefined
  const resourceUri = addressHere(server, textAt(ui, 'resourceUri'))
  const { visibility } = fieldsOf(ui)
  return { resourceUri, visibility }
}

/**
 * Whether a client keeps tools that are for apps alone from its model: one that has declared the extension. In older
 * revisions a request does not say that, and servers list such tools to every client.
 */
export function knowsApps({ modern, meta }: McpMessage): boolean {
  return !modern || UI in fieldsOf(fieldsOf(meta[CLIENT_CAPABILITIES])['extensions'])
}
