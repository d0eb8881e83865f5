import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

type Fields = Record<string, any>

/** A message as a server of the test saw it. */
export interface McpRequest {
  readonly method: string
  readonly params: Fields
  readonly headers: IncomingMessage['headers']
}

/** What the script of a call may do beside returning its result. */
export interface Talk {
  /** Sends a message before the answer, which makes an event stream of it. */
  send(message: object): void
  /** Sends an event's text, and lets go of the stream. The rest of the script is heard by who comes back for it. */
  drop(event: string): void
  /** Settles once the client has closed the request. */
  readonly closed: Promise<void>
}

/** An error of the protocol, with the HTTP status that carries it. */
export class Refusal extends Error {
  readonly body: object
  readonly status: number

  constructor(code: number, message: string, { status = 200, data }: { status?: number; data?: unknown } = {}) {
    super(message)
    this.body = { code, message, ...(data !== undefined && { data }) }
    this.status = status
  }
}

/** Servers so far: a port may come again, and what a client remembers goes by the URL. */
let count = 0

/** A server of the Model Context Protocol that does what a test tells it. */
export class McpServer {
  readonly requests: McpRequest[] = []
  tools: object[] = []
  /** Tools of one page of the list. */
  page = 100
  /** The cursor of the page after the one that begins there. */
  after = (from: number): string | undefined =>
    from + this.page < this.tools.length ? String(from + this.page) : undefined
  ttlMs: number | undefined
  call: (params: Fields, talk: Talk) => unknown = () => ({ content: [] })
  /** Answers requests beside those for tools, by method. */
  others: Readonly<Record<string, (params: Fields) => unknown>> = {}
  /** Answers instead of all that follows where it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false
  /** Sessions that are known; a server of an older revision that has any demands one. */
  readonly sessions = new Set<string>()
  readonly #revision: string
  readonly #wantsSession: boolean
  /** What it answers for a session that it does not know. */
  readonly #lost: { readonly status: number; readonly code: number }
  readonly #server = createServer((request, response) => void this.#hear(request, response))
  #url = ''
  #given = 0
  #dropped = Promise.resolve('')

  constructor(
    revision: '2026-07-28' | '2025-11-25' | '2025-06-18' = '2026-07-28',
    { wantsSession = false, lost = { status: 404, code: -32001 } } = {},
  ) {
    this.#lost = lost
    this.#revision = revision
    this.#wantsSession = wantsSession
  }

  get url(): string {
    return this.#url
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    this.#url = `http://127.0.0.1:${typeof address === 'object' && address?.port}/mcp/${count++}`
    return this
  }

  /** Answers what another server was asked. */
  hear(request: IncomingMessage, response: ServerResponse): true {
    void this.#hear(request, response)
    return true
  }

  /** Breaks off all that it is saying. */
  cut(): void {
    this.#server.closeAllConnections()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  /** What was seen of a method. */
  of(method: string): McpRequest[] {
    return this.requests.filter((each) => each.method === method)
  }

  get methods(): string[] {
    return this.requests.map(({ method }) => method)
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.intercept(request, response)) return
    if (request.method === 'GET') {
      this.requests.push({ method: 'GET', params: {}, headers: request.headers })
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(await this.#dropped)
      return
    }
    const message = (await json(request)) as Fields
    const { id, method = 'response', params = message } = message
    this.requests.push({ method, params, headers: request.headers })
    const respond = (status: number, body?: object, headers = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(body && JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    const isNewest = this.#revision === '2026-07-28'
    if (!isNewest && method !== 'initialize' && this.#wantsSession) {
      const session = String(request.headers['mcp-session-id'])
      if (session === 'undefined') return void respond(400, { error: { code: -32000, message: 'No session' } })
      if (!this.sessions.has(session))
        return void respond(this.#lost.status, { error: { code: this.#lost.code, message: 'Session lost' } })
    }
    if (method === (isNewest ? 'initialize' : 'server/discover'))
      return void respond(isNewest ? 404 : 200, { error: { code: -32601, message: 'No such method' } })
    if (id === undefined || method === 'response') return void response.writeHead(202).end()
    try {
      const { result, headers } = await this.#answer(method, params, response, id)
      const body = { result: isNewest && method !== 'tools/call' ? { resultType: 'complete', ...result } : result }
      if (!response.headersSent) respond(200, body, headers)
      else if (!response.writableEnded) response.end(eventOf({ jsonrpc: '2.0', id, ...body }))
    } catch (error) {
      if (error instanceof Refusal) respond(error.status, { error: error.body })
      else respond(500)
    }
  }

  async #answer(
    method: string,
    params: Fields,
    response: ServerResponse,
    id: unknown,
  ): Promise<{ result: any; headers?: object }> {
    if (method === 'server/discover') return { result: { supportedVersions: [this.#revision], capabilities: {} } }
    if (method === 'initialize') {
      const session = `session-${++this.#given}`
      this.sessions.add(session)
      const result = { protocolVersion: this.#revision, capabilities: {}, serverInfo: { name: 'test', version: '1' } }
      return { result, headers: this.#wantsSession ? { 'mcp-session-id': session } : {} }
    }
    if (method === 'tools/list') {
      const from = Number(params['cursor'] ?? 0)
      const nextCursor = this.after(from)
      const more = nextCursor === undefined ? {} : { nextCursor }
      return { result: { tools: this.tools.slice(from, from + this.page), ...more, ttlMs: this.ttlMs } }
    }
    const other = this.others[method]
    if (other) return { result: await other(params) }
    if (method !== 'tools/call') throw new Refusal(-32601, 'No such method')
    const open = () => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    }
    const talk: Talk = {
      closed: new Promise((resolve) => response.on('close', resolve)),
      send: (message) => {
        open()
        response.write(eventOf({ jsonrpc: '2.0', ...message }))
      },
      drop: (event) => {
        open()
        response.end(event)
        this.#dropped = outcome.then((result) => eventOf({ jsonrpc: '2.0', id, result }))
      },
    }
    const outcome: Promise<unknown> = (async () => {
      await Promise.resolve()
      return this.call(params, talk)
    })()
    return { result: await outcome }
  }
}

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}

/** What a Worker of a test has to live in. */
export const LIFETIME = { waitUntil: () => {} } as unknown as ExecutionContext
