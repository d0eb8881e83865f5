import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** A server on a free port of 127.0.0.1. */
export interface LoopbackServer {
  /** Without a slash at the end. */
  readonly url: string
  /** Closes all connections. */
  close(): Promise<void>
}

/** Starts a server. A request whose handler throws loses its connection. */
export async function startLoopbackServer(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise<unknown>((resolve) => server.close(resolve))
    },
  }
}

/** Whether a request asks for the list of models, which an edge does beside its first request. Answers that there is none. */
export function refusesList({ method }: IncomingMessage, response: ServerResponse): boolean {
  if (method !== 'GET') return false
  sendJson(response, { error: { message: 'There is no list of models.', type: 'invalid_request_error' } }, 404)
  return true
}

/** Sends JSON. The connection is not kept, since it could close just when the next request takes it. */
export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify(body))
}
