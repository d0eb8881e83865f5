import { type ConnectionService, EDGE_OWNER, type SignInEnd } from 'edgecall/tool'
import { warn } from './list.ts'
import type { SignInEnd as ConnectionEnd } from './oauth/connection.ts'
import { connectionOf, connectionWithId, ownTarget, targetOf } from './oauth/connections.ts'
import { HeldBack, needsAcceptance, reasonOf } from './oauth/trust.ts'
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
        visible.map(async ({ server, target }) => {
          const { name, url, oauth } = target
          const own = await ownTarget(env, server, owner, target)
          const { refusal = own.refusal, ...state } = await connectionOf(env, server, owner).state(own.target)
          const signIn = oauth.grant === 'client_credentials' ? 'none' : oauth.owner
          return { server: name, url, signIn, ...state, ...(refusal && { heldBack: reasonOf(refusal) }) }
        }),
      )
    },
    signIn: async (owner, name, consent) => {
      const entry = find(name)
      if (!entry || !mayOwn(owner, entry.server)) return { error: `There is no server "${name}" to sign in to.` }
      try {
        const { target, refusal } = await ownTarget(env, entry.server, owner, entry.target)
        if (refusal) throw new HeldBack(refusal)
        if (owner !== EDGE_OWNER && target.oauth.issuer === undefined && needsAcceptance(target)) {
          return { error: `An operator must accept the authorization server of "${name}" first.` }
        }
        const start = await connectionOf(env, entry.server, owner).signIn(target, consent)
        if ('refusal' in start) throw new HeldBack(start.refusal)
        return start
      } catch (error) {
        if (error instanceof HeldBack) {
          warn({ event: 'mcp.held_back', server: name, detail: error.message })
          return { error: `The server "${name}" is held back: ${error.message}.`, issuer: error.refusal.issuer }
        }
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
    finish: async (query, browser) => {
      const back = new URLSearchParams(query)
      const [id = '', nonce = ''] = (back.get('state') ?? '').split('.')
      const connection = connectionWithId(env, id)
      const server = await connection?.serverOf(nonce)
      const entry = server === undefined ? undefined : find(server)
      if (!connection || !entry) return { error: 'This sign-in is not known, or another one has begun since.' }
      try {
        return endOf(entry.target.name, await connection.finish(entry.target, nonce, query, browser))
      } catch (error) {
        warn({ event: 'mcp.sign_in_failed', server, detail: String(error) })
        return { error: UNREACHABLE }
      }
    },
    confirm: async (owner, name, code) => {
      const entry = find(name)
      if (!entry || !mayOwn(owner, entry.server)) return { error: `There is no server "${name}" to sign in to.` }
      try {
        return endOf(name, await connectionOf(env, entry.server, owner).confirm(entry.target, code))
      } catch (error) {
        warn({ event: 'mcp.sign_in_failed', server: name, detail: String(error) })
        return { error: UNREACHABLE }
      }
    },
  }
}

const UNREACHABLE = 'The authorization server could not be reached. Sign in again.'

function endOf(server: string, end: ConnectionEnd): SignInEnd {
  if ('error' in end) return end
  return { server, ...('code' in end && { code: end.code }) }
}

/** Whether an owner has a connection of its own to a server: the edge has one to each, for its list of tools. */
function mayOwn(owner: string, { oauth }: McpServer): boolean {
  return owner === EDGE_OWNER || oauth?.owner === 'tenant'
}
