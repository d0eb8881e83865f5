import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { onTestFinished, test, expect } from 'vitest'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

/** Starts a server on a free port and returns the port. */
async function listen(listener: RequestListener, onConnect?: (host: string) => number): Promise<number> {
  const server = createServer(listener)
  server.on('connect', ({ url = '' }, client) => {
    const upstream = connect(onConnect?.(url) ?? 0, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** An edge without tools, and a proxy that takes every host for it; `hosts` are those that were asked of the proxy. */
async function startEdgeBehindProxy(): Promise<{ edge: number; proxy: string; hosts: string[] }> {
  const hosts: string[] = []
  const edge = await listen((_, response) => {
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ tools: [], unavailable: [], withheld: [] }))
  })
  const proxy = await listen(
    (_, response) => response.writeHead(405).end(),
    (host) => {
      hosts.push(host)
      return edge
    },
  )
  return { edge, proxy: `http://127.0.0.1:${proxy}`, hosts }
}

async function listTools(url: string, env: Record<string, string>) {
  const command = start(process.execPath, [MAIN, 'list', '--url', url, '--json'], { env })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

test.each(['HTTP_PROXY', 'http_proxy'])('a command reaches an edge through the proxy of %s', async (name) => {
  const { proxy, hosts } = await startEdgeBehindProxy()
  const result = await listTools('http://edge.example', { [name]: proxy })
  expect(result).toMatchObject({ code: 0, errors: '' })
  expect(hosts).toEqual(['edge.example:80'])
})

test('hosts of NO_PROXY and this machine are asked without the proxy', async () => {
  const { edge, proxy, hosts } = await startEdgeBehindProxy()
  expect(await listTools(`http://127.0.0.1:${edge}`, { HTTP_PROXY: proxy })).toMatchObject({ code: 0, errors: '' })
  const result = await listTools('http://edge.invalid', { HTTP_PROXY: proxy, NO_PROXY: 'other.example,.invalid' })
  expect(result).toMatchObject({ code: 1 })
  expect(hosts).toEqual([])
})

test('a proxy that is not a URL is refused', async () => {
  expect(await listTools('http://edge.example', { HTTPS_PROXY: 'proxy:x:y' })).toMatchObject({
    code: 1,
    out: expect.stringContaining('HTTPS_PROXY must be a URL, such as http://proxy.example:3128.'),
  })
})
