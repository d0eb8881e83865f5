/** The door for the Worker that offers the tools of other MCP servers. The build bundles it of `tools/mcp`. */
import type { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'

/** A tool Worker that offers the tools of the servers in `MCP_SERVERS`. */
declare class McpTools extends WorkerEntrypoint<Readonly<Record<string, unknown>>> {}

/** The Durable Object that holds the tokens of a server with `oauth`. */
export declare class McpConnection extends DurableObject {}

export { McpTools as default }
