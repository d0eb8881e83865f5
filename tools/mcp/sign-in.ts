import { type ConnectionService, EDGE_OWNER } from 'edgecall/tool'
import { warn } from './list.ts'
import { connectionOf, connectionWithId, targetOf } from './oauth/connections.ts'
import { type McpEnv, type McpServer, readServers } from './servers.ts'

/** Makes what tells of the connections to the configured servers, begins sign-ins and ends them. */
export function connectionService(env: McpEnv): ConnectionService {
  const servers = readServers(env).flatMap((server) => {
    const target = targetOf(server)
    return target ? [{ server, target }] : []
  })
  const find = (name: string) => servers.find(({ server }) => server.name === name)
  return {
    connections: (owner) => {
      const visible = servers.filter(({ server }) => owner === EDGE_OWNER || server.oauth?.owner === 'tenant')
      return Promise.all(
        visible.map(async ({ server, target: { name, url, oauth } }) => {
          const state = await connectionOf(env, server, owner).state()
          const signIn = oauth.grant === 'client_credentials' ? 'none' : oauth.owner
          return { server: name, url, signIn, ...state }
        }),
      )
    },
    signIn: async (owner, name) => {
      const entry = find(name)
      if (!entry || !mayOwn(owner, entry.server)) return { error: `There is no server "${name}" to sign in to.` }
      try {
        return { url: await connectionOf(env, entry.server, owner).signIn(entry.target) }
      } catch (error) {
        warn({ event: 'mcp.sign_in_failed', server: name, detail: String(error) })
        return {
          error: `Nobody can sign in to "${name}" now: ${error instanceof Error ? error.message : 'it failed'}.`,
        }
      }
    },
    disconnect: async (owner, name) => {
      const entry = find(name)
      if (!entry || !mayOwn(owner, entry.server)) return false
      await connectionOf(env, entry.server, owner).forget()
      return true
    },
    finish: async (query) => {
      const back = new URLSearchParams(query)
      const [id = '', nonce = ''] = (back.get('state') ?? '').split('.')
      const connection = connectionWithId(env, id)
      const server = await connection?.serverOf(nonce)
      const entry = server === undefined ? undefined : find(server)
      if (!connection || !entry) return { error: 'This sign-in is not known, or another one has begun since.' }
      try {
        const error = await connection.finish(entry.target, nonce, query)
        return error === undefined ? { server: entry.target.name } : { error }
      } catch (error) {
        warn({ event: 'mcp.sign_in_failed', server, detail: String(error) })
        return { error: 'The authorization server could not be reached. Sign in again.' }
      }
    },
  }
}

/** Whether an owner has a connection of its own to a server: the edge has one to each, for its list of tools. */
function mayOwn(owner: string, { oauth }: McpServer): boolean {
  return owner === EDGE_OWNER || oauth?.owner === 'tenant'
}
