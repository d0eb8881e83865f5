import { EDGE_OWNER, secretFilter } from 'edgecall/tool'
import { HttpFault } from './exchange.ts'
import { readChallenge } from './oauth/challenge.ts'
import { type ConnectionStub, connectionOf, ownTarget, targetOf } from './oauth/connections.ts'
import type { Target } from './oauth/config.ts'
import { HeldBack } from './oauth/trust.ts'
import type { McpEnv, McpServer } from './servers.ts'

/** A server that nobody has signed in to, or whose sign-in no longer holds. */
export class SignInNeeded extends Error {
  readonly connection: ConnectionStub
  readonly target: Target

  constructor(connection: ConnectionStub, target: Target) {
    super('nobody is signed in to it')
    this.connection = connection
    this.target = target
  }
}

/** How often a request that the server refuses is sent again with another token. */
const MOST_RENEWALS = 2

/**
 * Sends a request with the access that the server wants: with the token of the tenant's connection, or of the edge's.
 * A request that the server refuses (401, or 403 for a lack of scope) was not done, and is sent again with a renewed
 * token. Rejects with a SignInNeeded if a person must sign in first, and with a HeldBack if the server names an
 * authorization server that nobody has accepted.
 */
export async function withAccess<Result>(
  env: McpEnv,
  server: McpServer,
  tenant: string | undefined,
  send: (server: McpServer) => Promise<Result>,
): Promise<Result> {
  const general = targetOf(server)
  if (!general) return send(server)
  const owner = general.oauth.owner === 'tenant' ? (tenant ?? EDGE_OWNER) : EDGE_OWNER
  const connection = connectionOf(env, server, owner)
  const { target, refusal } = await ownTarget(env, server, owner, general)
  const access = refusal ? { refusal } : await connection.token(target)
  if ('refusal' in access) throw new HeldBack(access.refusal)
  let { token } = access
  for (let renewals = 0; ; renewals++) {
    try {
      return await send(token === undefined ? server : withToken(server, token))
    } catch (error) {
      const challenge = error instanceof HttpFault ? readChallenge(error.challenge) : undefined
      const isRefused = error instanceof HttpFault && (error.status === 401 || isStepUp(error, challenge?.error))
      if (!isRefused || !challenge || renewals === MOST_RENEWALS) throw error
      const renewal = await connection.renewToken(target, token, challenge)
      if ('denial' in renewal) throw error
      if ('refusal' in renewal) {
        // What one tenant has found holds the server back for all.
        if (owner !== EDGE_OWNER) await connectionOf(env, server, EDGE_OWNER).hold(renewal.refusal)
        throw new HeldBack(renewal.refusal)
      }
      if ('needs' in renewal) throw new SignInNeeded(connection, target)
      token = renewal.token
    }
  }
}

function isStepUp({ status }: HttpFault, error: string | undefined): boolean {
  return status === 403 && error === 'insufficient_scope'
}

/** The token goes to this server alone, and is removed from what the server sends. */
function withToken(server: McpServer, token: string): McpServer {
  const { headers, secretTexts } = server
  const secrets = secretFilter([...secretTexts, token])
  return { ...server, headers: { ...headers, authorization: `Bearer ${token}` }, secrets }
}
