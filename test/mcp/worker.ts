import type { ToolRequest } from '../../src/contract/tool.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import type { McpEnv } from '../../tools/mcp/servers.ts'
import { connectionService } from '../../tools/mcp/sign-in.ts'

export { McpConnection } from '../../tools/mcp/oauth/object.ts'

/** What a test has the Worker do, with variables of its own. */
export type Order = { readonly vars: McpEnv } & (
  | { readonly do: 'describe' }
  | { readonly do: 'call'; readonly request: ToolRequest }
  | { readonly do: 'signIn'; readonly owner: string; readonly server: string; readonly issuer?: string }
  | { readonly do: 'finish'; readonly query: string; readonly browser?: string }
)

/** The Worker `tools/mcp`, whose servers come with each request, so that one Worker meets all servers of a suite. */
export default {
  async fetch(request: Request, bindings: McpEnv, ctx: ExecutionContext): Promise<Response> {
    const order: Order = await request.json()
    const env = { ...bindings, ...order.vars }
    try {
      return Response.json(await answer(order, env, ctx))
    } catch (error) {
      return Response.json({ error: String(error) })
    }
  },
}

function answer(order: Order, env: McpEnv, ctx: ExecutionContext): Promise<unknown> {
  if (order.do === 'describe') return mcpService(ctx, env).describe()
  if (order.do === 'call') return mcpService(ctx, env).call(order.request)
  if (order.do === 'signIn') return connectionService(env).signIn(order.owner, order.server, order.issuer)
  return connectionService(env).finish(order.query, order.browser)
}
