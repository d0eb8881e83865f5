import { WorkerEntrypoint } from 'cloudflare:workers'
import type { ConnectionService } from 'edgecall/tool'
import type { McpEnv } from './servers.ts'
import { mcpService } from './service.ts'
import { connectionService } from './sign-in.ts'

export { McpConnection } from './oauth/object.ts'

type Service = ReturnType<typeof mcpService>

/** A tool Worker that offers the tools of MCP servers, read from the servers while it runs. */
export default class extends WorkerEntrypoint<McpEnv> implements ConnectionService {
  async describe(): ReturnType<Service['describe']> {
    return mcpService(this.ctx, this.env).describe()
  }

  async call(...request: Parameters<Service['call']>): ReturnType<Service['call']> {
    return mcpService(this.ctx, this.env).call(...request)
  }

  async connections(owner: string): ReturnType<ConnectionService['connections']> {
    return connectionService(this.env).connections(owner)
  }

  async signIn(owner: string, server: string, issuer?: string): ReturnType<ConnectionService['signIn']> {
    return connectionService(this.env).signIn(owner, server, issuer)
  }

  async disconnect(owner: string, server: string): Promise<boolean> {
    return connectionService(this.env).disconnect(owner, server)
  }

  async finish(query: string, browser?: string): ReturnType<ConnectionService['finish']> {
    return connectionService(this.env).finish(query, browser)
  }

  async confirm(owner: string, server: string, code: string): ReturnType<ConnectionService['confirm']> {
    return connectionService(this.env).confirm(owner, server, code)
  }

  override fetch(): Response {
    return new Response('A tool Worker answers only over its service binding.\n', { status: 404 })
  }
}
