import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { type ScriptedStage, startScripted } from './scripted-stage.ts'

const people = new AuthorizationServer()
let stage: ScriptedStage
beforeAll(async () => {
  await people.listen()
  stage = await startScripted({ IDENTITY_PROVIDERS: JSON.stringify([people.provider()]) })
})
afterAll(async () => {
  await stage?.close()
  people.close()
})

type Mode = 'legacy' | 'auto' | { pin: string }

async function connected(mode: Mode, key = stage.key): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', stage.url), { requestInit }))
  return client
}

describe.each<[string, Mode]>([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', 'auto'],
  ['2026-07-28', { pin: '2026-07-28' }],
])('the client of the MCP SDK %s, negotiating %j,', (revision, mode) => {
  test('lists the tools that it may call, and calls one', async () => {
    const client = await connected(mode)
    expect([client.getNegotiatedProtocolVersion(), client.getServerVersion()]).toEqual([
      revision,
      { name: 'edgecall', version: '0.1.0' },
    ])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    // The one that takes a person is not for it.
    expect([names.includes('squareRoot'), names.includes('pays')]).toEqual([true, false])
    const { content, structuredContent, isError } = await client.callTool({
      name: 'squareRoot',
      arguments: { number: 16 },
    })
    const value = { value: 4 }
    expect({ content, structuredContent, isError }).toEqual({
      content: [{ type: 'text', text: JSON.stringify(value) }],
      structuredContent: value,
      isError: undefined,
    })
    await client.close()
  })

  test('receives progress and errors', async () => {
    const client = await connected(mode)
    const progress: unknown[] = []
    const arrived = await client.callTool({ name: 'progresses' }, { onprogress: (news) => progress.push(news) })
    expect([arrived.content, progress]).toEqual([
      [{ type: 'text', text: 'arrived' }],
      [{ progress: 0.5, total: 1, message: 'half way' }],
    ])
    const misfit = await client.callTool({ name: 'squareRoot', arguments: { number: 'x' } })
    expect([misfit.isError, misfit.content]).toMatchObject([true, [{ text: expect.stringContaining('do not fit') }]])
    const refusal = await client.callTool({ name: 'pays' })
    expect([refusal.isError, refusal.content]).toMatchObject([true, [{ text: expect.stringContaining('person') }]])
    await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })

  test('may disconnect in the middle of a call', async () => {
    const client = await connected(mode)
    const leave = new AbortController()
    const cancelledCall = client.callTool({ name: 'hangs' }, { signal: leave.signal, onprogress: () => {} })
    leave.abort(new Error('left'))
    await expect(cancelledCall).rejects.toThrow('left')
    expect((await client.callTool({ name: 'progresses' })).content).toEqual([{ type: 'text', text: 'arrived' }])
    await client.close()
  })

  test('is refused without a key', async () => {
    await expect(connected(mode, 'ek_of_nobody')).rejects.toThrow(/valid key|HTTP 401/)
  })
})

/** What an application remembers of its sign-in: at first nothing. `opened` is the page that it has a person open. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:1/callback'
  readonly clientMetadata = { client_name: 'test', redirect_uris: [this.redirectUrl] }
  opened: URL | undefined
  token: OAuthTokens | undefined
  #client: OAuthClientInformationMixed | undefined
  #verifier = ''
  #servers: OAuthDiscoveryState | undefined

  state = () => 'the-state'
  clientInformation = () => this.#client
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client)
  tokens = () => this.token
  saveTokens = (tokens: OAuthTokens) => void (this.token = tokens)
  redirectToAuthorization = (url: URL) => void (this.opened = url)
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier)
  codeVerifier = () => this.#verifier
  saveDiscoveryState = (servers: OAuthDiscoveryState) => void (this.#servers = servers)
  discoveryState = () => this.#servers
}

describe.each<Mode>(['legacy', 'auto'])('a person with the client of the MCP SDK, negotiating %s,', (mode) => {
  test('signs in from nothing with the address of the edge alone, and calls a tool', async () => {
    const authProvider = new Person()
    const address = new URL('/mcp', stage.url)
    const connect = async () => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      await client.connect(new StreamableHTTPClientTransport(address, { authProvider }))
      return client
    }
    await expect(connect()).rejects.toThrow(UnauthorizedError)
    const { opened } = authProvider
    if (!opened) throw new Error('No page was opened.')
    expect(people.authorizations.length).toBe(mode === 'legacy' ? 0 : 1)
    const back = await people.agree(opened)
    expect(people.authorizations.at(-1)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: address.href,
      scope: 'edge.call edge.read',
      state: 'the-state',
    })
    await new StreamableHTTPClientTransport(address, { authProvider }).finishAuth(back.searchParams)
    const client = await connect()
    expect(await client.callTool({ name: 'squareRoot', arguments: { number: 16 } })).toMatchObject({
      structuredContent: { value: 4 },
    })
    await client.close()
    const { token } = authProvider
    // The token is for `/mcp` alone.
    const elsewhere = await stage.ask('/tools', { headers: { authorization: `Bearer ${token?.access_token}` } })
    expect(elsewhere.status).toBe(401)
  })
})
