import { textOf } from '../json.ts'
import { base64Url } from './base64-url.ts'
import { type Challenge, hasScopes, joinScopes } from './challenge.ts'
import { configuredClient, type OAuthClient, registerClient, tokenRequest } from './client.ts'
import type { Target } from './config.ts'
import { type AuthorizationServer, discover, type Discovery } from './discover.ts'
import { fetchJson } from './http.ts'
import { type ConnectionStorage, HeldBack, type Refusal, Trust, type TrustState } from './trust.ts'

/** The tokens of a connection, and where they may go to be renewed. */
interface Grant {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Epoch milliseconds. */
  readonly expiresAt?: number
  readonly scope: string
  readonly resource: string
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly client: OAuthClient
}

/** A sign-in that has begun. */
interface SignIn {
  /** The name of the MCP server. */
  readonly name: string
  readonly nonce: string
  readonly verifier: string
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly callback: string
  readonly resource: string
  readonly scope: string
  readonly expiresAt: number
  /** What the browser that asked for it has, as a cookie. */
  readonly browser: string
  /** Set once a person has come back with another browser. */
  readonly pending?: Pending
}

/** A sign-in that waits for the one who asked for it to enter a code. */
interface Pending {
  readonly authorizationCode: string
  /** What the page shows to the person who has signed in. */
  readonly code: string
  readonly failures: number
}

/** What comes of a sign-in: it is finished, waits for a code to be entered, or has failed. */
export type SignInEnd = { readonly done: true } | { readonly code: string } | { readonly error: string }

/** What becomes of a request that a server has refused: it is sent again with a token, or somebody must sign in. */
export type Renewal =
  | { readonly token: string }
  | { readonly needs: 'sign-in' }
  | { readonly denial: string }
  | { readonly refusal: Refusal }

/**
 * How a sign-in begins. Without `url`, the edge has credentials of its own, and nobody needs to sign in. A browser that
 * comes back with `browser` is the one that asked.
 */
export type SignInStart =
  | { readonly issuer: string; readonly url?: string; readonly browser?: string }
  | { readonly refusal: Refusal }

export interface ConnectionState extends TrustState {
  readonly connected: boolean
  readonly scope?: string
  readonly expiresAt?: number
}

/** How long a sign-in may take. */
const SIGN_IN_MS = 15 * 60_000
/** How often a wrong code may be entered for a sign-in. */
const MOST_FAILURES = 5
/** A token that expires sooner is renewed before it is used. */
const MARGIN_MS = 30_000

/**
 * The access to one server for one owner: the registered client, the tokens, and the sign-in that is under way. Lives in
 * a Durable Object, so that one renewal is done at a time. Tokens leave it only towards their server.
 */
export class Connection {
  readonly #storage: ConnectionStorage
  readonly #trust: Trust
  #renewal: Promise<Renewal> | undefined

  constructor(storage: ConnectionStorage) {
    this.#storage = storage
    this.#trust = new Trust(storage)
  }

  /** Returns the token to send, renewed if it has expired, if there is one; a refusal while the server is held back. */
  async token(target: Target): Promise<{ readonly token?: string } | { readonly refusal: Refusal }> {
    const { refusal } = await this.#trust.state(target)
    if (refusal) return { refusal }
    const grant = await this.#grant(target)
    if (!grant) return {}
    if ((grant.expiresAt ?? Infinity) > Date.now() + MARGIN_MS) return { token: grant.accessToken }
    const renewal = await this.#once(() => this.#renew(target, grant))
    return 'token' in renewal || 'refusal' in renewal ? renewal : {}
  }

  /** Returns what becomes of a request that the server refused, with the token that it had. */
  async renewToken(target: Target, token: string | undefined, challenge: Challenge): Promise<Renewal> {
    const grant = await this.#grant(target)
    // Another request has renewed it meanwhile.
    if (grant && grant.accessToken !== token) return { token: grant.accessToken }
    return this.#once(() => this.#answer(target, grant, challenge))
  }

  /**
   * Begins a sign-in. `url` is the address that a person opens; without one, nobody needs to sign in. `id` leads the way
   * back to this connection, and `consent` is the authorization server that a person accepts by this. A server that
   * names one that is not trusted is held back.
   */
  async signIn(target: Target, id: string, consent?: string): Promise<SignInStart> {
    const { oauth, callback } = target
    if (consent !== undefined && consent !== (oauth.issuer ?? consent)) {
      throw new Error(`its authorization server has to be ${oauth.issuer}`)
    }
    await this.#storage.delete('signIn')
    const challenge = (await this.#storage.get<Challenge>('challenge')) ?? {}
    const discovery = await whetherTrusted(() => this.#discover(target, challenge, consent))
    if ('refusal' in discovery) return discovery
    const { authorizationServer: server, resource, scopes } = discovery
    const { issuer } = server
    const { issuer: trusted } = await this.#trust.state(target)
    if (consent !== undefined || issuer === trusted) await this.#trust.accept(issuer)
    if (oauth.grant !== 'authorization_code') return { issuer }
    if (callback === undefined) throw new Error('MCP_CALLBACK_URL is not set')
    if (server.authorizationEndpoint === '') throw new Error(`${issuer} has no authorization endpoint`)
    const client = await this.#client(target, server)
    const grant = await this.#grant(target)
    const grantedScope = grant?.issuer === server.issuer ? grant.scope : ''
    const wanted = joinScopes(oauth.scope, grantedScope, challenge.scope) || joinScopes(...scopes)
    const scope = server.scopes.includes('offline_access') ? joinScopes(wanted, 'offline_access') : wanted
    const [nonce, verifier, browser] = [randomText(), randomText(), randomText()]
    const ends = { name: target.name, nonce, browser, expiresAt: Date.now() + SIGN_IN_MS }
    await this.#storage.put('signIn', { ...ends, verifier, server, client, callback, resource, scope })
    const address = new URL(server.authorizationEndpoint)
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
    const fields = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: callback,
      state: `${id}.${nonce}`,
      code_challenge: base64Url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
      resource,
      ...(scope !== '' && { scope }),
    }
    for (const [name, value] of Object.entries(fields)) address.searchParams.set(name, value)
    return { issuer, url: address.href, browser }
  }

  /** Returns the name of the server that a sign-in is for. */
  async serverOf(nonce: string): Promise<string | undefined> {
    const signIn = await this.#storage.get<SignIn>('signIn')
    return signIn?.nonce === nonce ? signIn.name : undefined
  }

  /**
   * Takes what the authorization server sent a person back with. The browser that asked for the sign-in ends it by this.
   * In any other browser, a person may have followed a link of somebody else's: the sign-in then waits for the code that
   * is returned, which the one who asked has to enter. A sign-in comes back once.
   */
  async finish(
    target: Pick<Target, 'oauth'>,
    nonce: string,
    back: URLSearchParams,
    browser?: string,
  ): Promise<SignInEnd> {
    const signIn = await this.#storage.get<SignIn>('signIn')
    if (!signIn || signIn.nonce !== nonce || signIn.pending) return { error: UNKNOWN_SIGN_IN }
    await this.#storage.delete('signIn')
    if (Date.now() > signIn.expiresAt) return { error: 'This sign-in took too long.' }
    const { server } = signIn
    const issuer = back.get('iss')
    // Another authorization server could have sent the person here with its own code (RFC 9207).
    if (issuer === null ? server.namesItself : issuer !== server.issuer)
      return { error: 'The answer is not from the right server.' }
    const authorizationCode = back.get('code')
    if (authorizationCode === null) {
      return { error: `The authorization server refused: ${back.get('error') ?? 'it sent no code'}.` }
    }
    if (browser === signIn.browser) return this.#redeem(target, signIn, authorizationCode)
    const code = shortCode()
    await this.#storage.put('signIn', { ...signIn, pending: { authorizationCode, code, failures: 0 } })
    return { code }
  }

  /** Ends a sign-in with the code that the person who signed in was shown. */
  async confirm(target: Pick<Target, 'oauth'>, code: string): Promise<SignInEnd> {
    const signIn = await this.#storage.get<SignIn>('signIn')
    if (!signIn?.pending || Date.now() > signIn.expiresAt) return { error: 'No sign-in waits for a code.' }
    const { pending } = signIn
    const failures = pending.failures + 1
    if (code.trim().toUpperCase() === pending.code) {
      await this.#storage.delete('signIn')
      return this.#redeem(target, signIn, pending.authorizationCode)
    }
    if (failures >= MOST_FAILURES) await this.#storage.delete('signIn')
    else await this.#storage.put('signIn', { ...signIn, pending: { ...pending, failures } })
    return { error: 'This is not the code that the page showed.' }
  }

  /** Exchanges the authorization code of a sign-in for tokens. */
  async #redeem(target: Pick<Target, 'oauth'>, signIn: SignIn, code: string): Promise<SignInEnd> {
    const { server, client, callback, verifier, resource, scope } = signIn
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier, resource }
    const { tokenEndpoint, issuer } = server
    const grant = await this.#requestToken(target, { client, tokenEndpoint, issuer, resource, scope }, fields)
    if (!grant) return { error: 'The authorization server did not accept the sign-in.' }
    await this.#trust.accept(issuer)
    return { done: true }
  }

  async state(target: Target): Promise<ConnectionState> {
    const trust = await this.#trust.state(target)
    const grant = await this.#grant(target)
    if (!grant) return { connected: false, ...trust }
    const { scope, expiresAt } = grant
    return { connected: true, ...(scope !== '' && { scope }), expiresAt, ...trust }
  }

  /** Holds the server back, as another connection to it has found a reason to. */
  async hold(refusal: Refusal): Promise<void> {
    await this.#trust.hold(refusal)
  }

  /** Forgets the tokens, the sign-in under way and the accepted authorization server. The registered client stays. */
  async forget(): Promise<void> {
    for (const key of ['grant', 'signIn', 'challenge']) await this.#storage.delete(key)
    await this.#trust.forget()
  }

  /** Returns the tokens, if the authorization server that gave them is still the trusted one. */
  async #grant(target: Target): Promise<Grant | undefined> {
    const grant = await this.#storage.get<Grant>('grant')
    const { issuer } = await this.#trust.state(target)
    return grant && issuer === grant.issuer ? grant : undefined
  }

  /** Finds the trusted authorization server. Rejects with a HeldBack if the server names none that is trusted. */
  #discover(target: Target, challenge: Challenge, consent?: string): Promise<Discovery> {
    return discover(target.url, challenge, (issuers) => this.#trust.choose(target, issuers, consent))
  }

  /** Renews for all that ask at the same time. */
  #once(renew: () => Promise<Renewal>): Promise<Renewal> {
    this.#renewal ??= whetherTrusted(renew).finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  async #answer(target: Target, grant: Grant | undefined, challenge: Challenge): Promise<Renewal> {
    const isStepUp = challenge.error === 'insufficient_scope'
    if (isStepUp && grant && hasScopes(grant.scope, challenge.scope ?? '')) {
      return { denial: 'it refuses a token that has the scopes it asks for' }
    }
    await this.#storage.put('challenge', challenge)
    if (target.oauth.grant === 'client_credentials') return this.#withCredentials(target, challenge)
    if (!grant || isStepUp) return { needs: 'sign-in' }
    // The server may have moved to another authorization server, which must not get what the old one gave.
    await this.#discover(target, challenge)
    return this.#renew(target, grant)
  }

  /** Renews tokens that the server no longer accepts. If that fails, somebody must sign in. */
  async #renew(target: Target, grant: Grant): Promise<Renewal> {
    if (target.oauth.grant === 'client_credentials') return this.#withCredentials(target, {})
    const { refreshToken, resource } = grant
    const fields = refreshToken && { grant_type: 'refresh_token', refresh_token: refreshToken, resource }
    const renewed = fields && (await this.#requestToken(target, grant, fields))
    if (renewed) return { token: renewed.accessToken }
    const current = await this.#grant(target)
    // Somebody has signed in meanwhile.
    if (current && current.accessToken !== grant.accessToken) return { token: current.accessToken }
    await this.#storage.delete('grant')
    return { needs: 'sign-in' }
  }

  async #withCredentials(target: Target, challenge: Challenge): Promise<Renewal> {
    const discovery = await this.#discover(target, challenge)
    const { authorizationServer, resource } = discovery
    const client = await this.#client(target, authorizationServer)
    const scope = joinScopes(target.oauth.scope, challenge.scope) || joinScopes(...discovery.scopes)
    const fields = { grant_type: 'client_credentials', resource, ...(scope !== '' && { scope }) }
    const { issuer, tokenEndpoint } = authorizationServer
    const grant = await this.#requestToken(target, { client, issuer, tokenEndpoint, resource, scope }, fields)
    return grant ? { token: grant.accessToken } : { denial: 'its authorization server refused the credentials' }
  }

  /** Returns the client for this authorization server: the configured one, or one that is registered for it. */
  async #client(target: Target, server: Discovery['authorizationServer']): Promise<OAuthClient> {
    const configured = configuredClient(target, server)
    if (configured) return configured
    const stored = await this.#storage.get<OAuthClient>('client')
    if (stored && stored.issuer === server.issuer && stored.callback === target.callback) return stored
    const client = await registerClient(target, server)
    await this.#storage.put('client', client)
    return client
  }

  async #requestToken(
    target: Pick<Target, 'oauth'>,
    { client, issuer, tokenEndpoint, resource, scope }: Omit<Grant, 'accessToken' | 'refreshToken' | 'expiresAt'>,
    fields: Readonly<Record<string, string>>,
  ): Promise<Grant | undefined> {
    const { status, fields: answer } = await fetchJson(tokenEndpoint, await tokenRequest(target, client, fields))
    if (status >= 500) throw new Error(`${issuer} answered HTTP ${status}`)
    const accessToken = textOf(answer['access_token'])
    if (status !== 200 || accessToken === '') return undefined
    const { expires_in: lifetime } = answer
    // A renewal without a new refresh token leaves the old one valid.
    const refreshToken = textOf(answer['refresh_token']) || fields['refresh_token']
    const grant: Grant = {
      accessToken,
      refreshToken,
      ...(typeof lifetime === 'number' && lifetime > 0 && { expiresAt: Date.now() + lifetime * 1000 }),
      scope: textOf(answer['scope']) || scope,
      resource,
      issuer,
      tokenEndpoint,
      client,
    }
    await this.#storage.put('grant', grant)
    return grant
  }
}

/** Resolves with what does the work, or with the reason for which the server is held back. Other errors pass. */
async function whetherTrusted<Value>(work: () => Promise<Value>): Promise<Value | { readonly refusal: Refusal }> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof HeldBack) return { refusal: error.refusal }
    throw error
  }
}

const UNKNOWN_SIGN_IN = 'This sign-in is not known, or another one has begun since.'
/** Letters and digits that nobody takes for another. */
const SIGNS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Makes a code of 40 bits that a person can read and type, such as `K7QF-2M9P`. */
function shortCode(): string {
  const text = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => SIGNS[byte % SIGNS.length]).join('')
  return `${text.slice(0, 4)}-${text.slice(4)}`
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)))
}
