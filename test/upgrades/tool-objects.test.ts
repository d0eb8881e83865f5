import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bookings } from '../../tools/bookings/bookings.ts'
import { McpConnection } from '../../tools/mcp/oauth/object.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { connectionService } from '../../tools/mcp/sign-in.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { toolRequest } from '../host/source/calls.ts'
import { GuardedServer } from '../tools/mcp-oauth-server.ts'
import { LIFETIME } from '../tools/mcp-server.ts'
import { releaseNames, unpackWorker } from './releases.ts'

type ConnectionClass = typeof McpConnection

const folder = mkdtempSync(join(tmpdir(), 'edgecall-connections-'))
let server: GuardedServer

beforeAll(async () => {
  server = await new GuardedServer().listen()
})
afterAll(() => {
  server?.close()
  rmSync(folder, { recursive: true })
})

/** Returns the objects of a Worker of a release, from its packed code. */
async function releasedObjects(
  release: string,
  worker: 'bookings' | 'mcp',
): Promise<{ readonly Bookings: typeof Bookings; readonly McpConnection: ConnectionClass }> {
  const file = join(folder, `${release}-${worker}`)
  unpackWorker(release, worker, file)
  const runtime = JSON.stringify(join(import.meta.dirname, '../fixtures/runtime.ts'))
  writeFileSync(`${file}.mjs`, readFileSync(`${file}.js`, 'utf8').replaceAll('"cloudflare:workers"', runtime))
  return import(/* @vite-ignore */ `${file}.mjs`)
}

/** The Worker of other servers’ tools, whose objects have stored this, and have the code that is named last. */
function installation() {
  const stored = new Map<string, Map<string, unknown>>()
  let Connection = McpConnection
  const get = (id: string) => {
    const values = stored.get(id) ?? new Map<string, unknown>()
    stored.set(id, values)
    const storage = {
      get: async (key: string) => structuredClone(values.get(key)),
      put: async (key: string, value: unknown) => void values.set(key, structuredClone(value)),
      delete: async (key: string) => values.delete(key),
    }
    return Reflect.construct(Connection, [{ id, storage }, {}])
  }
  const env = {
    MCP_SERVERS: JSON.stringify([{ name: 'files', url: server.mcp.url, oauth: {} }]),
    MCP_CALLBACK_URL: 'https://edge.example.com/connections/callback',
    CONNECTIONS: {
      idFromName: (name: string) => Buffer.from(name).toString('hex'),
      idFromString: (id: string) => id,
      get,
    },
  }
  const connections = connectionService(env)
  return {
    run: (code: ConnectionClass) => void (Connection = code),
    state: async () => (await connections.connections(''))[0],
    /** Begins a sign-in, and returns how it is finished. */
    begin: async () => {
      const signIn = await connections.signIn('', 'files', server.issuer)
      if (!('url' in signIn) || signIn.url === undefined) throw new Error(JSON.stringify(signIn))
      const { url, browser } = signIn
      return async () => connections.finish(await server.open(url), browser)
    },
    call: async () => {
      const service = mcpService(LIFETIME, env)
      const [tool] = (await service.describe()).tools
      const caller = { tenant: 'acme', scopes: [] }
      return service.call(toolRequest('echo', {}, { hash: tool?.hash ?? '', deadline: Date.now() + 30_000, caller }))
    },
  }
}

describe.each(releaseNames())('after a rollback to %s,', (release) => {
  test('connections to MCP servers have the tokens of people, and those that the release has got are taken over again', async () => {
    const mcp = installation()
    const { McpConnection: released } = await releasedObjects(release, 'mcp')
    const finish = await mcp.begin()
    expect(await finish()).toEqual({ server: 'files' })
    const state = await mcp.state()
    for (const code of [released, McpConnection]) {
      mcp.run(code)
      expect(await mcp.state()).toEqual(state)
      expect(await mcp.call()).toMatchObject({ ok: true })
    }
    mcp.run(released)
    expect(await (await mcp.begin())()).toEqual({ server: 'files' })
    mcp.run(McpConnection)
    expect(await mcp.call()).toMatchObject({ ok: true })
  })

  test('connections finish a sign-in that the other edge has begun', async () => {
    const { McpConnection: released } = await releasedObjects(release, 'mcp')
    for (const [first, second] of [
      [McpConnection, released],
      [released, McpConnection],
    ] as const) {
      const mcp = installation()
      mcp.run(first)
      const finish = await mcp.begin()
      mcp.run(second)
      expect(await finish()).toEqual({ server: 'files' })
      expect(await mcp.state()).toMatchObject({ connected: true })
    }
  })

  test('what was done once is done once, whichever edge is asked again', async () => {
    const released = (await releasedObjects(release, 'bookings')).Bookings
    const storage = memoryStorage(new DatabaseSync(':memory:'))
    const open = (code: typeof Bookings): Bookings => Reflect.construct(code, [{ storage }, {}])
    const book = (code: typeof Bookings, key: string) =>
      open(code).book(key, { guest: 'Ada', room: 'double', checkIn: '2026-12-01', checkOut: '2026-12-03' })
    const first = book(Bookings, 'key 1')
    expect(book(released, 'key 1')).toEqual(first)
    const second = book(released, 'key 2')
    expect(second).not.toEqual(first)
    expect([book(Bookings, 'key 1'), book(Bookings, 'key 2')]).toEqual([first, second])
    expect(await open(Bookings).madeBy('key 2')).toEqual(second)
  })
})
