import type { McpEnv, McpServer } from '../servers.ts'
import type { Challenge } from './challenge.ts'
import type { Target } from './config.ts'
import type { ConnectionState, Renewal } from './connection.ts'

/** A connection, over RPC. */
export interface ConnectionStub {
  token(target: Target): Promise<string | undefined>
  renewToken(target: Target, token: string | undefined, challenge: Challenge): Promise<Renewal>
  signIn(target: Target): Promise<string>
  serverOf(nonce: string): Promise<string | undefined>
  finish(target: Target, nonce: string, back: string): Promise<string | undefined>
  state(): Promise<ConnectionState>
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

/** Returns a server as its connection knows it; undefined for one without OAuth. */
export function targetOf({ name, url, oauth, callback }: McpServer): Target | undefined {
  return oauth && { name, url, oauth, callback }
}
