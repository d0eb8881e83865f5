import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { onTestFinished } from 'vitest'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'

export interface ServedEdge extends KeptEdge {
  /** Without a slash at its end. */
  readonly url: string
  /** Breaks every connection that is open. */
  readonly cut: () => void
}

export function servedEdge(options: Parameters<typeof keptEdge>[0]): Promise<ServedEdge> {
  return serve(keptEdge(options))
}

/** Serves an edge on a free port of 127.0.0.1, for clients with a `fetch` of their own, until the test has finished. */
export async function serve(edge: KeptEdge): Promise<ServedEdge> {
  const server = createServer((request, response) => {
    answer(edge, request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise<unknown>((resolve) => server.close(resolve))
  })
  const address = server.address()
  return {
    ...edge,
    url: `http://127.0.0.1:${typeof address === 'object' && address?.port}`,
    cut: () => server.closeAllConnections(),
  }
}

async function answer(edge: KeptEdge, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const body = method === 'GET' ? {} : { body: Readable.toWeb(request), duplex: 'half' }
  const headerPairs = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const init = { method, headers: Object.fromEntries(headerPairs), ...body } as RequestInit
  const edgeResponse = await edge.fetch(new Request(`http://${headers.host}${url}`, init))
  response.writeHead(edgeResponse.status, Object.fromEntries(edgeResponse.headers))
  response.flushHeaders()
  if (!edgeResponse.body) return void response.end()
  // A client that leaves breaks this, and so the edge learns of it.
  await pipeline(Readable.fromWeb(edgeResponse.body as never), response).catch(() => {})
}
