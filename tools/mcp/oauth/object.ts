import { DurableObject } from 'cloudflare:workers'
import type { McpEnv } from '../servers.ts'
import type { Challenge } from './challenge.ts'
import type { Target } from './config.ts'
import { Connection, type ConnectionState, type Renewal, type SignInEnd, type SignInStart } from './connection.ts'
import type { ConnectionStub } from './connections.ts'
import type { Refusal } from './trust.ts'

/** The Durable Object of one connection: its server and its owner are its name. */
export class McpConnection extends DurableObject<McpEnv> implements ConnectionStub {
  readonly #connection: Connection
  readonly #id: string

  constructor(state: DurableObjectState, env: McpEnv) {
    super(state, env)
    this.#id = state.id.toString()
    const { storage } = state
    this.#connection = new Connection({
      get: (key) => storage.get(key),
      put: (key, value) => storage.put(key, value),
      delete: (key) => storage.delete(key),
    })
  }

  async token(target: Target): ReturnType<Connection['token']> {
    return this.#connection.token(target)
  }

  async renewToken(target: Target, token: string | undefined, challenge: Challenge): Promise<Renewal> {
    return this.#connection.renewToken(target, token, challenge)
  }

  async signIn(target: Target, consent?: string): Promise<SignInStart> {
    return this.#connection.signIn(target, this.#id, consent)
  }

  async serverOf(nonce: string): Promise<string | undefined> {
    return this.#connection.serverOf(nonce)
  }

  async finish(target: Target, nonce: string, back: string, browser?: string): Promise<SignInEnd> {
    return this.#connection.finish(target, nonce, new URLSearchParams(back), browser)
  }

  async confirm(target: Target, code: string): Promise<SignInEnd> {
    return this.#connection.confirm(target, code)
  }

  async state(target: Target): Promise<ConnectionState> {
    return this.#connection.state(target)
  }

  async hold(refusal: Refusal): Promise<void> {
    return this.#connection.hold(refusal)
  }

  async forget(): Promise<void> {
    return this.#connection.forget()
  }
}
