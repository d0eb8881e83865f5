import { WorkerEntrypoint } from 'cloudflare:workers'
import type { McpEnv } from './servers.ts'
import { mcpService } from './service.ts'

type Service = ReturnType<typeof mcpService>

/** A tool Worker that offers the tools of MCP servers, read from the servers while it runs. */
export default class extends WorkerEntrypoint<McpEnv> {
  async describe(): ReturnType<Service['describe']> {
    return mcpService(this.ctx, this.env).describe()
  }

  async call(...request: Parameters<Service['call']>): ReturnType<Service['call']> {
    return mcpService(this.ctx, this.env).call(...request)
  }

  override fetch(): Response {
    return new Response('A tool Worker answers only over its service binding.\n', { status: 404 })
  }
}
