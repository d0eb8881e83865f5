import { serveTools } from 'edgecall/tool'
import { remoteTool } from './call.ts'
import { listTools, expireList, type RemoteTool, warn } from './list.ts'
import { nameTools } from './names.ts'
import { resourceTools } from './resources.ts'
import { type McpEnv, type McpServer, readServers } from './servers.ts'

type Service = Pick<InstanceType<ReturnType<typeof serveTools<McpEnv>>>, 'describe' | 'call'>

/**
 * Makes the service of this Worker: the tools of all configured servers, under their names here. A server that cannot
 * be reached does not affect the others; if none can be reached, `describe` and `call` reject.
 */
export function mcpService(ctx: ExecutionContext, env: McpEnv): Service {
  const servers = readServers(env)
  const serve = async (isWanted: (name: string) => boolean): Promise<Service> => {
    const tools = [...nameTools(await listAll(env, servers))].filter(([name]) => isWanted(name))
    const Served = serveTools<McpEnv>(...tools.flatMap(([, entry]) => toolOf(...entry)))
    return new Served(ctx, env)
  }
  const call = async (...[request, control]: Parameters<Service['call']>) => {
    const isWanted = (name: string) => name === request.name
    const outcome = await (await serve(isWanted)).call(request, control)
    if (outcome.ok || !/^(?:schema_mismatch|unknown_tool)$/.test(outcome.error.code)) return outcome
    // The edge's list differs from this isolate's. No tool was called, so the call may be made again with new lists.
    servers.forEach(expireList)
    return (await serve(isWanted)).call(request, control)
  }
  return {
    describe: async () => ({ ...(await (await serve(() => true)).describe()), source: 'mcp', checksOutput: false }),
    call: (...request) => {
      const result = call(...request)
      // The edge may disconnect when it cancels a call; the server must still be told.
      ctx.waitUntil(result.catch(() => {}))
      return result
    },
  }
}

async function listAll(
  env: McpEnv,
  servers: readonly McpServer[],
): Promise<readonly (readonly [McpServer, readonly RemoteTool[]])[]> {
  const failures: string[] = []
  const listings = await Promise.all(
    servers.map(async (server) => {
      try {
        return [server, [...(await listTools(env, server)), ...resourceTools(server)]] as const
      } catch (error) {
        failures.push(`${server.name}: ${error instanceof Error ? error.message : String(error)}`)
        return [server, []] as const
      }
    }),
  )
  if (failures.length > 0 && failures.length === servers.length) throw new Error(failures.join('; '))
  return listings
}

function toolOf(...[name, server, tool]: Parameters<typeof remoteTool>): ReturnType<typeof remoteTool>[] {
  try {
    return [remoteTool(name, server, tool)]
  } catch (error) {
    warn({ event: 'mcp.tool_refused', server: server.name, tool: tool.name, detail: String(error) })
    return []
  }
}
