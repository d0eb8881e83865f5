import { EDGE_OWNER } from 'edgecall/tool'
import type { McpEnv, McpServer } from '../servers.ts'
import type { Challenge } from './challenge.ts'
import type { Target } from './config.ts'
import type { Connection, ConnectionState, Renewal, SignInEnd, SignInStart } from './connection.ts'
import type { Refusal } from './trust.ts'

/** A connection, over RPC. */
export interface ConnectionStub {
  token(target: Target): ReturnType<Connection['token']>
  renewToken(target: Target, token: string | undefined, challenge: Challenge): Promise<Renewal>
  signIn(target: Target, consent?: string): Promise<SignInStart>
  serverOf(nonce: string): Promise<string | undefined>
  finish(target: Target, nonce: string, back: string, browser?: string): Promise<SignInEnd>
  confirm(target: Target, code: string): Promise<SignInEnd>
  state(target: Target): Promise<ConnectionState>
  hold(refusal: Refusal): Promise<void>
  forget(): Promise<void>
}

interface Namespace {
  idFromName(name: string): { toString(): string }
  idFromString(id: string): object
  get(id: object): ConnectionStub
}

/** Returns the connection to a server for an owner. Throws an Error without the binding CONNECTIONS. */
export function connectionOf(env: McpEnv, { name, url }: McpServer, owner: string): ConnectionStub {
  const namespace = namespaceOf(env)
  return namespace.get(namespace.idFromName(JSON.stringify([owner, name, url])))
}

/** Returns the connection with this id; undefined for a text that is not an id. */
export function connectionWithId(env: McpEnv, id: string): ConnectionStub | undefined {
  const namespace = namespaceOf(env)
  try {
    return namespace.get(namespace.idFromString(id))
  } catch {
    return undefined
  }
}

function namespaceOf({ CONNECTIONS: namespace }: McpEnv): Namespace {
  if (typeof namespace !== 'object' || namespace === null) throw new Error('the binding CONNECTIONS is missing')
  // What wrangler.toml binds under this name.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return namespace as Namespace
}

/**
 * Returns a server as the connection of an owner knows it: a tenant's trusts the authorization server that the edge's
 * trusts, if that trusts one, and is held back with it.
 */
export async function ownTarget(
  env: McpEnv,
  server: McpServer,
  owner: string,
  target: Target,
): Promise<{ readonly target: Target; readonly refusal?: Refusal | undefined }> {
  if (owner === EDGE_OWNER) return { target }
  const { issuer, refusal } = await connectionOf(env, server, EDGE_OWNER).state(target)
  return { target: issuer === undefined ? target : { ...target, oauth: { ...target.oauth, issuer } }, refusal }
}

/** Returns a server as its connection knows it; undefined for one without OAuth. */
export function targetOf({ name, url, oauth, callback }: McpServer): Target | undefined {
  return oauth && { name, url, oauth, callback }
}
