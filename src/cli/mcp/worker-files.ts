import type { Files } from '../project/files.ts'
import { privateWorker } from '../project/tool-files.ts'

/** The files of the Worker that offers the tools of MCP servers. */
export function mcpWorkerFiles(service: string): Files {
  const config = privateWorker(
    service,
    'Offers the tools of other MCP servers. It needs no change but the servers below.',
  )
  return {
    'tools/mcp/index.ts': `export { default, McpConnection } from 'edgecall/mcp'\n`,
    'tools/mcp/wrangler.toml': `${config.replace('# Private', 'compatibility_flags = ["global_fetch_strictly_public"]\n# Private')}
[vars]
# Secrets are named, as in "Bearer {SECRET_GITHUB}", never written here: \`npx wrangler secret put SECRET_GITHUB -c
# tools/mcp/wrangler.toml\`; on your machine, in a file \`.dev.vars\` beside this one. By adding a server you trust the
# descriptions of its tools.
MCP_SERVERS = "[]"
# Where authorization servers send people back to after they have signed in: /connections/callback of the edge.
# MCP_CALLBACK_URL = "https://${service.replace(/-mcp$/, '')}.example.workers.dev/connections/callback"

# The tokens of servers with "oauth", one object for each server and owner.
[[durable_objects.bindings]]
name = "CONNECTIONS"
class_name = "McpConnection"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpConnection"]
`,
  }
}
