import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { toolNames, toolTypes } from '../../src/cli/types.ts'
import { servedEdge } from '../clients/served-edge.ts'
import { tool } from '../fixtures/play.ts'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'types-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function run(args: string[], env: Record<string, string> = {}) {
  const command = start(process.execPath, [MAIN, 'types', ...args], { cwd: folder, env })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

const TYPES = `/** The tools of an edge, by \`types\` of its command line: \`createClient<ToolName>({ url, key })\`. */
export type ToolName =
  | 'clock'
  | 'weather'
`

test('the command types prints the names of an edge’s tools as a type, or writes them to a file', async () => {
  const { url } = await servedEdge({ script: [], tools: [tool('weather'), tool('clock')] })
  expect(await run(['--url', `${url}/`])).toEqual({ code: 0, out: TYPES, errors: '' })
  const { out } = await run(['--out', 'made/tool-name.ts'], { EDGECALL_URL: url })
  expect(out).toBe('2 tools written to made/tool-name.ts\n')
  expect(readFileSync(join(folder, 'made/tool-name.ts'), 'utf8')).toBe(TYPES)
})

test('the command types sends the key, and prints why the edge refuses', async () => {
  const sha256 = createHash('sha256').update('ek_1').digest('hex')
  const keys = (...scopes: string[]) => JSON.stringify([{ sha256, tenant: 'acme', scopes }])
  const served = (...scopes: string[]) =>
    servedEdge({ script: [], vars: { AUTH: 'keys', API_KEYS: keys(...scopes) }, tools: [tool('clock')] })
  const { url } = await served('tools:read')
  expect(await toolNames({ url, key: 'ek_1' })).toEqual(['clock'])
  await expect(toolNames({ url })).rejects.toMatchObject({
    message: 'The tools were not listed: Send a valid key: Authorization: Bearer …',
    hint: 'Set EDGECALL_KEY to a key of this edge.',
  })
  const other = await served('chat')
  await expect(toolNames({ url: other.url, key: 'ek_1' })).rejects.toThrow(
    'This request needs a key with the scope "tools:read"',
  )
})

test('the command types reads all pages', async () => {
  const tools = Array.from({ length: 1001 }, (_, index) => tool(`t${String(index).padStart(4, '0')}`))
  const { url } = await servedEdge({ script: [], tools })
  expect(await toolNames({ url })).toEqual(tools.map(({ definition }) => definition.name))
})

test('the command types omits unavailable tools; without tools the type has no name', async () => {
  const listing = [
    { name: 'TOOL_BROKEN', source: 'service', place: 'TOOL_BROKEN', available: false },
    { name: 'clock', source: 'service', place: 'TOOL_CLOCK', available: true },
  ]
  const server = createServer((_, response) => response.end(JSON.stringify(listing))).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await toolNames({ url: `http://127.0.0.1:${port}` })).toEqual(['clock'])
  expect(toolTypes([])).toContain('export type ToolName = never\n')
})

test('the command types writes no name that could be other code', async () => {
  const name = "x' }; process.exit(); type T = { y: '"
  const listing = [{ name, source: 'service', place: 'TOOL_X', available: true }]
  const server = createServer((_, response) => response.end(JSON.stringify(listing))).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await expect(toolNames({ url: `http://127.0.0.1:${port}` })).rejects.toThrow(
    `The edge lists ${JSON.stringify(name)}, which is not the name of a tool.`,
  )
})

test('the command types requires an edge', async () => {
  const { code, errors } = await run([])
  expect([code, errors]).toEqual([
    1,
    `Say where the edge is: --url https://…, or EDGECALL_URL.\nOr run one on this machine, in this folder: npx node ${relative(folder, MAIN)} dev\n`,
  ])
})
