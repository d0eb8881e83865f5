import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request of an application, and how the edge answered it. */
export interface Tapped {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  /** 0 until the edge has answered. */
  status: number
  /** The header `edgecall-ignored`. */
  ignored: string
  answer: string
}

export interface Tap {
  readonly url: string
  /** The requests since `reset`, in order. */
  readonly requests: readonly Tapped[]
  reset(): void
  close(): Promise<void>
}

/** Starts a proxy on 127.0.0.1 which passes everything on to an edge, and notes it. */
export async function startTap(edge: URL): Promise<Tap> {
  let requests: Tapped[] = []
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    buffer(request).then(
      (body) => {
        const tapped: Tapped = { method, path: url, headers, body: body.toString(), status: 0, ignored: '', answer: '' }
        requests.push(tapped)
        const onward = send(
          {
            host: edge.hostname,
            port: edge.port,
            method,
            path: url,
            headers: { ...headers, host: edge.host, 'accept-encoding': 'identity' },
          },
          (answer) => {
            tapped.status = answer.statusCode ?? 0
            tapped.ignored = String(answer.headers['edgecall-ignored'] ?? '')
            response.writeHead(tapped.status, answer.headers)
            answer.on('data', (chunk: Buffer) => {
              tapped.answer += chunk.toString()
            })
            answer.on('error', () => response.destroy())
            answer.pipe(response)
          },
        )
        onward.on('error', () => response.destroy())
        response.on('close', () => onward.destroy())
        onward.end(body)
      },
      () => response.destroy(),
    )
  })
  // A WebSocket is refused as the edge refuses it.
  server.on('upgrade', (request, socket) => {
    const onward = send({
      host: edge.hostname,
      port: edge.port,
      path: request.url,
      headers: { ...request.headers, host: edge.host },
    })
    onward.on('response', (answer) => {
      socket.end(
        `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      )
    })
    onward.on('error', () => socket.destroy())
    onward.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return requests
    },
    reset: () => {
      requests = []
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise<unknown>((resolve) => server.close(resolve))
    },
  }
}
