import type { Target } from './config.ts'

/** What a connection stores. */
export interface ConnectionStorage {
  get<Value>(key: string): Promise<Value | undefined>
  put(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<unknown>
}

/** An authorization server that a server named, and that nobody has accepted. Plain data, which crosses RPC. */
export interface Refusal {
  readonly issuer: string
  /** The one that is trusted; absent if none is yet. */
  readonly trusted?: string
}

/** Where the credentials of a connection may go. */
export interface TrustState {
  /** The issuer of the trusted authorization server; absent if none is yet. */
  readonly issuer?: string
  /** Set while the server is held back. */
  readonly refusal?: Refusal
}

/** A server that is held back, since it names an authorization server that nobody has accepted. */
export class HeldBack extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(reasonOf(refusal))
    this.refusal = refusal
  }
}

/** Says to operators why a server is held back. */
export function reasonOf({ issuer, trusted }: Refusal): string {
  const why = trusted === undefined ? 'nobody has accepted it' : `the accepted one is ${trusted}`
  return `it names ${issuer} as its authorization server, but ${why}`
}

/**
 * The authorization server that a connection trusts: the configured one, or the one that a person has accepted. The MCP
 * server names it, but does not choose it: one that names another is held back until a person accepts that, or until the
 * configuration changes.
 */
export class Trust {
  readonly #storage: ConnectionStorage

  constructor(storage: ConnectionStorage) {
    this.#storage = storage
  }

  async state({ oauth }: Pick<Target, 'oauth'>): Promise<TrustState> {
    const issuer = oauth.issuer ?? (await this.#storage.get<string>('issuer'))
    const refusal = await this.#storage.get<Refusal>('refusal')
    const isCurrent = refusal && refusal.trusted === issuer
    return { issuer, ...(isCurrent && { refusal }) }
  }

  /**
   * Returns the authorization server to use, of those that the server names. `consent` is the one that a person accepts
   * now. Throws a HeldBack if none of them is trusted, and holds the server back from then on.
   */
  async choose(target: Target, issuers: readonly [string, ...string[]], consent?: string): Promise<string> {
    const { issuer: trusted } = await this.state(target)
    const wanted = consent ?? trusted
    const [first] = issuers
    if (wanted === undefined ? !needsAcceptance(target) : issuers.includes(wanted)) return wanted ?? first
    const refusal = { issuer: first, trusted }
    if (trusted === undefined || !issuers.includes(trusted)) await this.hold(refusal)
    throw new HeldBack(refusal)
  }

  async hold(refusal: Refusal): Promise<void> {
    await this.#storage.put('refusal', refusal)
  }

  /** Trusts an authorization server that a person has accepted, or to which a person has signed in. */
  async accept(issuer: string): Promise<void> {
    await this.#storage.put('issuer', issuer)
    await this.#storage.delete('refusal')
  }

  async forget(): Promise<void> {
    for (const key of ['issuer', 'refusal']) await this.#storage.delete(key)
  }
}

/** Whether credentials would be sent before a person has seen where they go. */
export function needsAcceptance({ oauth: { grant, clientSecret, privateKey } }: Target): boolean {
  return grant === 'client_credentials' || clientSecret !== undefined || privateKey !== undefined
}
