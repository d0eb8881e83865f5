import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long to wait for a point, in milliseconds. */
const PATIENCE_MS = 60_000

/** The server that the tools of the recording ask what to answer. */
export interface Control {
  readonly url: string
  /** `<conversation>/<tool>/<phase>` of everything that it was asked, in order. */
  readonly requests: readonly string[]
  /** Resolves once it has been asked something. */
  until(point: string): Promise<void>
  close(): Promise<void>
}

/**
 * Starts the server. It never answers where `isHeld` says so, or has no answer yet to a poll; the tool `confirm` fails, and all others succeed.
 * `until` also waits for points that `note` was given.
 */
export async function startControl(
  isHeld: (point: string) => boolean,
): Promise<Control & { note(point: string): void }> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const point = (request.url ?? '').slice(1)
    requests.push(point)
    const [, tool = '', phase = ''] = point.split('/')
    if (phase === 'poll' && isHeld(point)) return void response.writeHead(204).end()
    if (isHeld(point)) return
    // A connection that is kept may be closed just when the next request takes it.
    response.setHeader('connection', 'close')
    if (tool === 'confirm') response.writeHead(409).end('It is sold out.')
    else if (tool === 'lookUp') response.end('long '.repeat(20_000))
    else response.end(`${tool}: ${phase} done`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    note: (point) => void requests.push(point),
    until: async (point) => {
      const deadline = Date.now() + PATIENCE_MS
      while (!requests.includes(point)) {
        if (Date.now() > deadline) throw new Error(`"${point}" was not reached; only ${requests.join(', ')}`)
        await sleep(20)
      }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise<unknown>((resolve) => server.close(resolve))
    },
  }
}
