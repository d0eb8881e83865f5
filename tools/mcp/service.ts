import { serveTools } from 'edgecall/tool'
import { SignInNeeded } from './access.ts'
import { remoteTool } from './call.ts'
import { expireList, leaveOut, type LeftOut, listTools, type RemoteTool } from './list.ts'
import { nameTools } from './names.ts'
import { HeldBack } from './oauth/trust.ts'
import { relayTools } from './relay.ts'
import { resourceTools } from './resources.ts'
import { type McpEnv, type McpServer, readServers } from './servers.ts'

type Service = Pick<InstanceType<ReturnType<typeof serveTools<McpEnv>>>, 'describe' | 'call'>

/**
 * Makes the service of this Worker: the tools of all configured servers, under their names here. Tools that cannot be
 * offered, and servers that cannot be reached, do not affect the others: `describe` says why they are missing. If no
 * server can be reached, `describe` and `call` reject.
 */
export function mcpService(ctx: ExecutionContext, env: McpEnv): Service {
  const servers = readServers(env)
  const serve = async (isWanted: (name: string) => boolean) => {
    const { listings, leftOut } = await listAll(env, servers)
    const entries = [...nameTools(listings)].filter(([name]) => isWanted(name))
    const tools = entries.flatMap(([, [name, server, tool]]) => {
      try {
        return [remoteTool(name, server, tool)]
      } catch (error) {
        leftOut.push(leaveOut(server, tool, error))
        return []
      }
    })
    const Served = serveTools<McpEnv>(...tools)
    return { service: new Served(ctx, env), leftOut }
  }
  const call = async (...[request, control]: Parameters<Service['call']>) => {
    const isWanted = (name: string) => name === request.name
    const outcome = await (await serve(isWanted)).service.call(request, control)
    if (outcome.ok || !/^(?:schema_mismatch|unknown_tool)$/.test(outcome.error.code)) return outcome
    // The edge's list differs from this isolate's. No tool was called, so the call may be made again with new lists.
    servers.forEach(expireList)
    return (await serve(isWanted)).service.call(request, control)
  }
  return {
    describe: async () => {
      const { service, leftOut } = await serve(() => true)
      return { ...(await service.describe()), source: 'mcp', checksOutput: false, unavailable: leftOut }
    },
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
): Promise<{ readonly listings: (readonly [McpServer, readonly RemoteTool[]])[]; readonly leftOut: LeftOut[] }> {
  const failures: string[] = []
  const leftOut: LeftOut[] = []
  const listings = await Promise.all(
    servers.map(async (server) => {
      try {
        const listing = await listTools(env, server)
        leftOut.push(...listing.leftOut)
        return [server, [...listing.tools, ...resourceTools(server), ...relayTools(server, listing.tools)]] as const
      } catch (error) {
        failures.push(`${server.name}: ${error instanceof Error ? error.message : String(error)}`)
        leftOut.push({ name: server.name, reason: reasonOf(server, error) })
        return [server, []] as const
      }
    }),
  )
  if (failures.length > 0 && failures.length === servers.length) throw new Error(failures.join('; '))
  return { listings, leftOut }
}

/** Says why the tools of a server are missing, without what it answered: callers may read that. */
function reasonOf({ name }: McpServer, error: unknown): string {
  if (error instanceof SignInNeeded) return `Nobody is signed in to the server "${name}": POST /connections/${name}`
  if (error instanceof HeldBack) return `The server "${name}" is held back: GET /connections says why.`
  return `The server "${name}" cannot be reached now: the log of this Worker says why (mcp.unavailable).`
}
