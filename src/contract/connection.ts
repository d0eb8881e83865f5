/** A server that the edge gets access to by OAuth, and whether it has it. */
export interface ServerConnection {
  readonly server: string
  readonly url: string
  /** Who must sign in: an operator for all tenants, each tenant for itself, or nobody. */
  readonly signIn: 'edge' | 'tenant' | 'none'
  readonly connected: boolean
  /** The scopes that were granted, with spaces between. */
  readonly scope?: string
  /** When the present token expires, in epoch milliseconds. It is renewed before, if the server allows that. */
  readonly expiresAt?: number
  /** The issuer of the authorization server that credentials may go to; absent if nobody has accepted one yet. */
  readonly issuer?: string
  /** Why the server is held back: its tools are not called until an operator accepts its authorization server. */
  readonly heldBack?: string
}

/**
 * How a sign-in begins: `url` is what a person opens; without it, the edge has credentials of its own, which may now go
 * to `issuer`. With `error`, `issuer` is the authorization server that the server names and that nobody has accepted.
 */
export type SignInAnswer =
  | {
      readonly issuer: string
      readonly url?: string
      /** What the browser that asked proves itself with when it comes back; no other may get it. */
      readonly browser?: string
    }
  | { readonly error: string; readonly issuer?: string }

/**
 * What comes of a sign-in to `server`. With `code`, the person came back with a browser that did not ask for it: the
 * sign-in ends once the one who asked enters the code.
 */
export type SignInEnd = { readonly server: string; readonly code?: string } | { readonly error: string }

/** The owner of connections that serve all tenants. No tenant has this name. */
export const EDGE_OWNER = ''

/**
 * The RPC methods of a tool Worker that is connected to other servers by OAuth. `owner` is a tenant, or `EDGE_OWNER`.
 * Contract: all resolve with values.
 */
export interface ConnectionService {
  connections(owner: string): Promise<readonly ServerConnection[]>
  /** Begins a sign-in. `issuer` is the authorization server that a person accepts by this. */
  signIn(owner: string, server: string, issuer?: string): Promise<SignInAnswer>
  /** Forgets the tokens of a connection. False if there is no such server. */
  disconnect(owner: string, server: string): Promise<boolean>
  /** Takes the query that the authorization server sent a person back with, and what proves the person's browser. */
  finish(query: string, browser?: string): Promise<SignInEnd>
  /** Ends a sign-in with the code that the person was shown who came back. */
  confirm(owner: string, server: string, code: string): Promise<SignInEnd>
}
