import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { McpServer } from './mcp-server.ts'

interface OauthRequest {
  readonly path: string
  readonly fields: URLSearchParams
  readonly authorization: string | undefined
}

/** An MCP server of the newest revision that wants a token, and its authorization server. */
export class GuardedServer {
  readonly requests: OauthRequest[] = []
  readonly mcp = new McpServer()
  /** The tokens that are accepted now. */
  readonly valid = new Set<string>()
  lifetime: number | undefined = 3600
  /** What the metadata of the server names as its authorization server. */
  issuer = ''
  redirectsTokens = false
  #made = 0
  #challenge = ''
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  async listen(): Promise<this> {
    await this.mcp.listen()
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    this.issuer = `http://127.0.0.1:${typeof address === 'object' && address?.port}`
    this.mcp.intercept = (request, response) => {
      const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
      if (request.url?.startsWith('/.well-known')) {
        const { origin } = new URL(this.mcp.url)
        const metadata = { resource: `${origin}/mcp`, authorization_servers: [this.issuer], scopes_supported: ['read'] }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
        return true
      }
      if (this.valid.has(token)) return false
      response.writeHead(401, { 'www-authenticate': `Bearer error="invalid_token"` }).end()
      return true
    }
    this.mcp.tools = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }]
    return this
  }

  close(): void {
    this.mcp.close()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Signs in as a browser does. Returns the query that it is sent back with. */
  async open(url: string): Promise<string> {
    const response = await fetch(url, { redirect: 'manual' })
    return new URL(response.headers.get('location') ?? '').search
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.issuer)
    const body = await text(request)
    const json = (value: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (pathname === '/.well-known/oauth-authorization-server') {
      return void json({
        issuer: this.issuer,
        authorization_endpoint: `${this.issuer}/authorize`,
        token_endpoint: `${this.issuer}/token`,
        registration_endpoint: `${this.issuer}/register`,
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      })
    }
    const fields = pathname === '/token' ? new URLSearchParams(body) : searchParams
    this.requests.push({ path: pathname, fields, authorization: request.headers.authorization })
    if (pathname === '/register') return void json({ client_id: 'registered', client_secret: 'secret-of-client' }, 201)
    if (pathname === '/authorize') {
      this.#challenge = fields.get('code_challenge') ?? ''
      const back = `${fields.get('redirect_uri')}?code=code-1&state=${fields.get('state')}`
      return void response.writeHead(302, { location: back }).end()
    }
    if (pathname !== '/token') return void response.writeHead(404).end()
    if (this.redirectsTokens) return void response.writeHead(307, { location: `${this.issuer}/elsewhere` }).end()
    const verifier = fields.get('code_verifier') ?? ''
    const isProven = createHash('sha256').update(verifier).digest('base64url') === this.#challenge
    if (fields.get('grant_type') === 'authorization_code' && !isProven)
      return void json({ error: 'invalid_grant' }, 400)
    const token = `token-of-the-server-${++this.#made}`
    this.valid.clear()
    this.valid.add(token)
    json({
      access_token: token,
      token_type: 'Bearer',
      expires_in: this.lifetime,
      refresh_token: `refresh-${this.#made}`,
    })
  }
}
