import type { ConnectionService } from '../contract/connection.ts'
import { connectionCallback, connections } from '../http/surfaces/connections.ts'
import type { Surface } from '../http/surface.ts'
import type { Env } from './env.ts'

/** A feature of an edge: access to other servers by OAuth. */
export interface ConnectionsFeature {
  readonly surfaces: readonly Surface[]
  /** Returns what keeps the connections; undefined without its binding. */
  readonly service: (env: Env) => ConnectionService | undefined
}

/**
 * Access to MCP servers by OAuth: `/connections`, where people sign in to them. The Worker `tools/mcp`, bound as
 * `TOOL_MCP`, keeps the tokens.
 */
export const mcpConnections: ConnectionsFeature = {
  surfaces: [connectionCallback, connections],
  service: ({ TOOL_MCP: service }) => service,
}
