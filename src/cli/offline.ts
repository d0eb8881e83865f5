import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'

/** The offline model, serving Chat Completions on a free port of 127.0.0.1. */
export interface OfflineServer {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  close(): void
}

interface FetchHandler {
  fetch(request: Request): Promise<Response>
}

/** The Worker in `tools/offline`; in the package, which is compiled, its bundle. */
const MODEL = import.meta.url.endsWith('.ts') ? '../../tools/offline/index.ts' : './offline-model.js'

/**
 * Serves the Worker in `tools/offline`. It runs in this process, because a second wrangler would make each start slower
 * and the Worker uses nothing but `Request`, `Response` and `Intl`. Nothing is left of it when this process ends.
 */
export async function startOffline(): Promise<OfflineServer> {
  const module: { readonly default: FetchHandler } = await import(new URL(MODEL, import.meta.url).href)
  const server = createServer((incoming, outgoing) => {
    answer(module.default, incoming, outgoing).catch((error: unknown) => {
      outgoing.destroy(error instanceof Error ? error : undefined)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A start that fails must not wait for this server.
  server.unref()
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The offline model has no port.')
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(worker: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = incoming
  const body = method === 'GET' || method === 'HEAD' ? null : await buffer(incoming)
  const response = await worker.fetch(new Request(new URL(url, 'http://127.0.0.1'), { method, body }))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}
