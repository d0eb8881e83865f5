import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Progress, ToolOutcome, ToolRequest } from '../../src/contract/tool.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { toolRequest } from '../host/source/calls.ts'
import { LIFETIME, McpServer } from './mcp-server.ts'

/** The context of a call, as far as a test cares. */
interface CallOptions {
  readonly context?: Partial<ToolRequest['context']>
  readonly hash?: string
  readonly progress?: Progress[]
  readonly whenAborted?: Promise<string>
}

/** The Worker of these servers: one server, or several with more of their configuration. */
export function worker(servers: McpServer | object[], env: Record<string, unknown> = {}) {
  const config = servers instanceof McpServer ? [{ name: 'test', url: servers.url }] : servers
  const service = mcpService(LIFETIME, { MCP_SERVERS: JSON.stringify(config), ...env })
  const describeTools = async (): Promise<readonly ToolDefinition[]> => (await service.describe()).tools
  return {
    describe: describeTools,
    missing: async () => (await service.describe()).unavailable,
    names: async () => (await describeTools()).map(({ name }) => name),
    call: async (name: string, args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<ToolOutcome> => {
      const hash = options.hash ?? (await describeTools()).find((tool) => tool.name === name)?.hash ?? ''
      return service.call(toolRequest(name, args, { hash, deadline: Date.now() + 30_000, ...options.context }), {
        whenAborted: () => options.whenAborted ?? new Promise(() => {}),
        progress: async (news) => void options.progress?.push(news),
      })
    },
  }
}
