import { onTestFinished } from 'vitest'
import type { Tool } from '../../src/contract/tool.ts'
import { serviceSource } from '../../src/host/source/service.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { LIFETIME, McpServer } from '../tools/mcp-server.ts'

/** A server, and what `MCP_SERVERS` says of it. */
export interface Configured {
  readonly server: McpServer
  readonly [field: string]: unknown
}

/** A server with the configuration that it has by default, or with more. */
export type ServerSpec = McpServer | Configured

/** As a server lists it. */
export function listedTool(name: string, more: object = {}): object {
  return { name, description: `Test tool ${name}`, inputSchema: { type: 'object' }, ...more }
}

/** Texts as parts of a result. */
export function texts(...replyTexts: readonly string[]): object[] {
  return replyTexts.map((text) => ({ type: 'text', text }))
}

/** A server of the Model Context Protocol with these tools, until the test is over. */
export async function serving(
  tools: readonly object[],
  answer: McpServer['call'] = ({ name }) => ({ content: texts(`${name} done`) }),
  ...revision: ConstructorParameters<typeof McpServer>
): Promise<McpServer> {
  const server = await new McpServer(...revision).listen()
  onTestFinished(() => server.close())
  server.tools = [...tools]
  server.call = answer
  return server
}

/** `tools/mcp` with these servers, whose results are believed unless the configuration says otherwise. */
export function bringing(...servers: readonly ServerSpec[]): ReturnType<typeof mcpService> {
  const configured = servers.map((config) => (config instanceof McpServer ? { server: config } : config))
  const MCP_SERVERS = configured.map(({ server, ...more }) => ({
    name: nextName(),
    url: server.url,
    trusted: true,
    ...more,
  }))
  return mcpService(LIFETIME, { MCP_SERVERS })
}

/** The tools of servers, as an edge has them that is bound to `tools/mcp`. */
export async function toolsOf(...servers: readonly ServerSpec[]): Promise<readonly Tool[]> {
  return toolsFrom(bringing(...servers))
}

/** The same of a Worker that is at hand. */
export async function toolsFrom(worker: ReturnType<typeof bringing>): Promise<readonly Tool[]> {
  return (await serviceSource({ bindings: { TOOL_MCP: worker }, offered: () => true }).list()).tools
}

/** What is remembered of a server goes by its name too: a port may come twice. */
function nextName(): string {
  return `server${++count}`
}

let count = 0
