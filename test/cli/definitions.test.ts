import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostsOf, putDefinitions, readDefinitions } from '../../src/cli/definitions.ts'

/** A repository that has these files in `tools/definitions/`. */
function repository(files: Record<string, unknown>): string {
  const root = mkdtempSync(join(tmpdir(), 'definitions-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = join(root, 'tools/definitions')
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return root
}

test('definitions are read in the order of their files', () => {
  const root = repository({
    'exchange-rate.json': { name: 'exchangeRate' },
    'a_b.json': { name: 'a_b' },
    'notes.md': '',
  })
  expect(readDefinitions(root)).toEqual([
    { file: 'tools/definitions/a_b.json', name: 'a_b', definition: { name: 'a_b' } },
    { file: 'tools/definitions/exchange-rate.json', name: 'exchangeRate', definition: { name: 'exchangeRate' } },
  ])
  expect(readDefinitions(tmpdir())).toEqual([])
})

test('a definition takes its module from the file beside it', () => {
  const code = { file: 'slug.js', hosts: ['example.com'] }
  const root = repository({ 'slug.json': { name: 'slug', code }, 'slug.js': 'export default () => 1\n' })
  expect(readDefinitions(root)[0]?.definition).toEqual({
    name: 'slug',
    code: { module: 'export default () => 1\n', hosts: ['example.com'] },
  })
  const path = 'tools/definitions/slug.js, the code of tools/definitions/slug.json, cannot be read: '
  expect(() => readDefinitions(repository({ 'slug.json': { name: 'slug', code } }))).toThrow(path)
})

test.each([
  ['{"name":"a"', 'tools/definitions/a.json cannot be read: '],
  [
    `{"name":"a","inputSchema":${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}}`,
    'tools/definitions/a.json cannot be read: it is nested over 100 levels deep',
  ],
  ['[]', 'tools/definitions/a.json must be an object with a `name`.'],
  ['{"name":1}', 'tools/definitions/a.json must be an object with a `name`.'],
  ['{"name":"b"}', 'tools/definitions/a.json defines the tool "b".'],
])('a broken definition is reported with the name of its file, %.20s', (content, message) => {
  expect(() => readDefinitions(repository({ 'a.json': content }))).toThrow(message)
})

test('the hosts that definitions call are collected with their secrets', () => {
  const root = repository({
    'a.json': { name: 'a', http: { url: 'https://api.example.com/v1/{city}?q={q}' } },
    'b.json': { name: 'b', http: { url: 'https://example.org:8443/' } },
    'c.json': { name: 'c', http: { url: 'not a URL' } },
    'd.json': { name: 'd', static: { text: 'https://never.example' } },
    'e.json': { name: 'e', code: { module: '', hosts: ['code.example', 5] } },
    'f.json': { name: 'f', code: { module: '' } },
    'g.json': { name: 'g', http: { url: 'http://127.0.0.1:9/', secrets: ['SECRET_G'] } },
    'h.json': { name: 'h', code: { module: '', hosts: ['code.example'], secrets: ['SECRET_H'] } },
  })
  expect(hostsOf(readDefinitions(root))).toEqual({
    'api.example.com': [],
    'example.org:8443': [],
    'code.example': ['SECRET_H'],
    'http://127.0.0.1:9': ['SECRET_G'],
  })
})

test('each definition is stored with the key, up to one that the edge refuses', async () => {
  const requests: [request: string, key: string | undefined, body: unknown][] = []
  const edge = await serve(async (request) => {
    requests.push([`${request.method} ${request.url}`, request.headers.authorization, JSON.parse(await text(request))])
    if (request.url === '/tools/a') return [201, { name: 'a' }]
    const issues = [
      { path: 'inputSchema.type', message: 'expected "object" at the root, received nothing' },
      { path: '', message: 'expected one kind' },
    ]
    return [422, { code: 'invalid_definition', detail: 'The definition was not stored', issues }]
  })
  const definitions = readDefinitions(
    repository({ 'a.json': { name: 'a' }, 'b.json': { name: 'b' }, 'c.json': { name: 'c' } }),
  )
  await expect(putDefinitions({ url: edge, key: 'ek_1' }, definitions)).rejects.toThrow(
    'tools/definitions/b.json was not stored: inputSchema.type: expected "object" at the root, received nothing; expected one kind',
  )
  expect(requests).toEqual([
    ['PUT /tools/a', 'Bearer ek_1', { name: 'a' }],
    ['PUT /tools/b', 'Bearer ek_1', { name: 'b' }],
  ])
})

test('storing definitions reports that no edge answers', async () => {
  const url = await serve(() => Promise.resolve([200, {}]), { closed: true })
  const definitions = readDefinitions(repository({ 'a.json': { name: 'a' } }))
  await expect(putDefinitions({ url }, definitions)).rejects.toThrow(`${url} does not answer: `)
})

async function serve(
  answer: (request: IncomingMessage) => Promise<[status: number, body: unknown]>,
  { closed = false } = {},
): Promise<string> {
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => response.writeHead(status).end(JSON.stringify(body)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  if (closed) close()
  else onTestFinished(close)
  return `http://127.0.0.1:${port}`
}
