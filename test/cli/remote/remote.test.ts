import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimState } from '../../../src/cli/dev/state.ts'
import { tailReader } from '../../../src/cli/remote/tail.ts'
import { startAccount } from '../../fixtures/account/account.ts'
import { start } from '../command.ts'

const MAIN = new URL('../../../src/cli/main.ts', import.meta.url).pathname

/** A folder with these files. */
function folder(files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'remote-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

async function run(root: string, args: string[], env: Record<string, string> = {}) {
  const command = start(process.execPath, [MAIN, ...args], { cwd: root, env })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

/** An edge that answers each request with this, and the requests that it got. */
async function edge(status: number, body: unknown) {
  const requests: unknown[] = []
  const server = createServer((request, response) => {
    void text(request).then((incoming) => {
      const { method, url, headers } = request
      requests.push([`${method} ${url}`, headers.authorization, ...(incoming === '' ? [] : [JSON.parse(incoming)])])
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(body === undefined ? '' : JSON.stringify(body))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

test('numbers of arguments and results are not rounded', async () => {
  const { url, requests } = await edge(200, { ok: true, content: [{ type: 'text', text: 'Row 9007199254740993' }] })
  const args = ['call', 'row', '--args', '{ "id": 9007199254740993, "count": 2 }']
  const { code, out } = await run(folder(), args, { EDGECALL_URL: url, EDGECALL_KEY: 'ek' })
  expect([code, out]).toEqual([0, 'Row 9007199254740993\n'])
  expect(requests).toEqual([['POST /tools/row/call', 'Bearer ek', { arguments: { id: '9007199254740993', count: 2 } }]])
})

describe('the address of the edge', () => {
  test('defaults to the edge that dev runs in the folder, with its key, unless EDGECALL_URL names another', async () => {
    const [local, other] = [await edge(200, []), await edge(200, [])]
    const root = folder()
    onTestFinished(claimState(root, '.wrangler/state', { url: local.url, key: 'ek_local' }))
    expect(await run(root, ['list'])).toMatchObject({ code: 0 })
    expect(await run(root, ['list'], { EDGECALL_URL: `${other.url}/`, EDGECALL_KEY: 'ek_other' })).toMatchObject({
      code: 0,
    })
    expect(local.requests).toEqual([['GET /tools?limit=1000', 'Bearer ek_local']])
    expect(other.requests).toEqual([['GET /tools?limit=1000', 'Bearer ek_other']])
  })

  test('must be given if no edge runs in the folder', async () => {
    const root = folder()
    expect(await run(root, ['list'])).toEqual({
      code: 1,
      out: '',
      errors: `Say where the edge is: --url https://…, or EDGECALL_URL.\nOr run one on this machine, in this folder: npx node ${relative(root, MAIN)} dev\n`,
    })
  })

  test('must be a URL', async () => {
    expect(await run(folder(), ['list', '--url', 'edge'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('"edge" is not the URL of an edge.'),
    })
  })
})

describe('the commands about tools', () => {
  const TOOLS = [
    { name: 'add', source: 'service', place: 'TOOL_ADD', available: true },
    { name: 'TOOL_B', source: 'service', place: 'TOOL_B', available: false, reason: 'it has no describe()' },
  ]

  test('list prints each tool, and why it is not available', async () => {
    const { url } = await edge(200, TOOLS)
    expect((await run(folder(), ['list', '--url', url])).out).toBe(
      'add     TOOL_ADD\nTOOL_B  not available: it has no describe()\n',
    )
    const { out } = await run(folder(), ['list', '--url', url, '--json'])
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(TOOLS)
  })

  test('list reads all pages of an edge with more than a thousand tools', async () => {
    const names = Array.from({ length: 1500 }, (_, index) => `tool${String(index).padStart(4, '0')}`)
    const tools = names.map((name) => ({ name, source: 'kv', place: 'TOOLS', available: true }))
    const server = createServer(({ url = '' }, response) => {
      const { searchParams } = new URL(url, 'http://127.0.0.1')
      const rest = tools.filter(({ name }) => name > (searchParams.get('after') ?? ''))
      response.end(JSON.stringify(rest.slice(0, Number(searchParams.get('limit') ?? 100))))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { out } = await run(folder(), ['list', '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`])
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(names)
  })

  test('call sends the arguments, prints the text, and fails if the call fails', async () => {
    const well = await edge(200, { ok: true, content: [{ type: 'text', text: '3' }] })
    expect(await run(folder(), ['call', 'add', '--args', '{"a":1}', '--url', well.url])).toEqual({
      code: 0,
      out: '3\n',
      errors: '',
    })
    expect(well.requests).toEqual([['POST /tools/add/call', undefined, { arguments: { a: 1 } }]])
    const broken = await edge(200, { ok: false, error: { code: 'by_zero', message: 'No.' } })
    expect(await run(folder(), ['call', 'add', '--url', broken.url])).toMatchObject({
      code: 1,
      out: 'failed (by_zero): No.\n',
    })
  })

  test('call refuses arguments other than a JSON object', async () => {
    expect(await run(folder(), ['call', 'add', '--args', '{a:1}', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--args is not JSON'),
    })
  })

  test('put stores the definition of a file, and remove removes it', async () => {
    const { url, requests } = await edge(200, {})
    const definition = { name: 'rates', description: 'd' }
    const root = folder({ 'tools/definitions/rates.json': JSON.stringify(definition) })
    expect(await run(root, ['put', 'tools/definitions/rates.json', '--url', url])).toMatchObject({
      code: 0,
      out: `rates is stored at ${url}\n`,
    })
    expect(await run(root, ['remove', 'rates', '--url', url])).toMatchObject({ code: 0 })
    expect(requests).toEqual([
      ['PUT /tools/rates', undefined, definition],
      ['DELETE /tools/rates', undefined],
    ])
  })

  test('put names the file that cannot be read', async () => {
    expect(await run(folder(), ['put', 'rates.json', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^rates\.json cannot be read: /),
    })
  })

  test('report that an edge does not answer, and exit with 1', async () => {
    expect(await run(folder(), ['list', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('http://127.0.0.1:9 does not answer'),
    })
  })
})

describe('the commands about keys', () => {
  test('new prints a key and stores only its hash', async () => {
    const root = folder()
    const { code, out } = await run(root, ['keys', 'new', 'billing', '--tenant', 'acme', '--scope', 'chat', '--json'])
    const { key, ...entry } = JSON.parse(out)
    expect(code).toBe(0)
    expect(entry).toEqual({
      id: 'billing',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      tenant: 'acme',
      scopes: ['chat'],
    })
    const file = readFileSync(join(root, 'api-keys.json'), 'utf8')
    expect(JSON.parse(file)).toEqual([entry])
    expect(file).not.toContain(key)
  })

  test('new refuses an id in use and a key that an edge would refuse, and writes nothing', async () => {
    const root = folder()
    await run(root, ['keys', 'new', 'billing'])
    const file = readFileSync(join(root, 'api-keys.json'), 'utf8')
    expect(await run(root, ['keys', 'new', 'billing'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('api-keys.json has a key billing already.'),
    })
    const refusals = [
      [['no/id'], '"no/id" cannot be the id of a key.\nUse 1 to 64 letters, digits, "_" and "-".\n'],
      [['a', '--tenant', 'b c'], '"b c" cannot be a tenant.\nUse 1 to 64 letters, digits, "_" and "-".\n'],
      [['a', '--expires', 'soon'], '"soon" is not a date.\nWrite it as in --expires 2099-01-31.\n'],
      [['a', '--expires', '2020-01-31'], '2020-01-31 has passed: the key could never be used.\nName a later date.\n'],
    ] as const
    for (const [words, errors] of refusals) {
      expect(await run(root, ['keys', 'new', ...words])).toEqual({ code: 1, out: '', errors })
    }
    expect(readFileSync(join(root, 'api-keys.json'), 'utf8')).toBe(file)
  })

  test('new rounds no number of the file', async () => {
    const key = { id: 'a', sha256: 'a'.repeat(64), tenant: 'acme', scopes: ['chat'] }
    const file = `[${JSON.stringify(key).slice(0, -1)},"budget":{"tokens":9007199254740993,"per":"day"}}]`
    const root = folder({ 'api-keys.json': file })
    expect(await run(root, ['keys', 'new', 'b'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('"budget"?: { "tokens"?, "cost"?, "per": "day" or "month" }'),
    })
    expect(readFileSync(join(root, 'api-keys.json'), 'utf8')).toBe(file)
  })

  test('new refuses a scope that neither edges nor the policies of the project know', async () => {
    const root = folder({ 'wrangler.toml': `name = "e"\n[vars]\nTOOL_POLICY = '{"refund":{"scopes":["billing"]}}'\n` })
    expect(await run(root, ['keys', 'new', 'app', '--scope', 'tools:raed'])).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^There is no scope "tools:raed"\.\nThere are chat, tools:read, /),
    })
    expect(
      await run(root, ['keys', 'new', 'app', '--stored', '--scope', 'caht', '--url', 'http://127.0.0.1:9']),
    ).toMatchObject({
      code: 1,
      errors: expect.stringContaining('There is no scope "caht".'),
    })
    expect(await run(root, ['keys', 'new', 'app', '--scope', 'chat', '--scope', 'billing'])).toMatchObject({ code: 0 })
  })

  test('revoke adds the key to the list of the namespace that a deployment has made', async () => {
    const account = await startAccount()
    onTestFinished(() => account.close())
    const values = new Map([['disabled', '["old"]']])
    account.state.namespaces.push({ id: 'keys-of-e', title: 'e-keys', values })
    const version = {
      ...{ id: 'v1', tag: '', message: '', modules: {}, mainModule: '' },
      bindings: [{ type: 'kv_namespace', name: 'KEYS', namespace_id: 'keys-of-e' }],
    }
    const deployments = [{ id: 'd1', versions: [{ version_id: 'v1', percentage: 100 }] }]
    account.state.scripts.set('e', { versions: [version], deployments, workersDev: false })
    const root = folder({
      'package.json': '{}',
      'wrangler.toml': 'name = "e"\nmain = "index.js"\n[[kv_namespaces]]\nbinding = "KEYS"\n',
    })
    expect(await run(root, ['keys', 'revoke', 'billing'], { ...account.env })).toMatchObject({
      code: 0,
      out: 'billing is disabled; edges know within a minute. Disabled: old, billing\n',
    })
    expect([...values]).toEqual([['disabled', '["old","billing"]']])
    // A list that cannot be read is left as it is: writing another one would enable the keys in it.
    values.set('disabled', '["old", billing]')
    expect(await run(root, ['keys', 'revoke', 'billing'], { ...account.env })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('"disabled" in the KV namespace KEYS is not a JSON array of ids.'),
    })
    expect([...values]).toEqual([['disabled', '["old", billing]']])
  })

  test('revoke --local begins a list, adds to it, and leaves one that cannot be read', async () => {
    const config = 'name = "e"\nmain = "index.js"\n[[kv_namespaces]]\nbinding = "KEYS"\n'
    const root = folder({ 'package.json': '{}', 'wrangler.toml': config })
    symlinkSync(new URL('../../../node_modules', import.meta.url).pathname, join(root, 'node_modules'))
    const revoke = (id: string) => run(root, ['keys', 'revoke', id, '--local', '--json'])
    expect(JSON.parse((await revoke('a')).out)).toMatchObject({ disabled: ['a'] })
    expect(JSON.parse((await revoke('b')).out)).toMatchObject({ disabled: ['a', 'b'] })
    // The folder of the state cannot be read.
    rmSync(join(root, '.wrangler'), { recursive: true })
    writeFileSync(join(root, '.wrangler'), '')
    expect(await revoke('c')).toMatchObject({ code: 1, errors: expect.stringContaining('wrangler kv key get failed') })
  })

  test('revoke reports what the edge lacks', async () => {
    const root = folder({ 'wrangler.toml': 'name = "e"\n' })
    expect(await run(root, ['keys', 'revoke', 'billing'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('wrangler.toml has no KV namespace KEYS'),
    })
  })
})

test('the log lines in the events of wrangler tail are found', () => {
  const lines: string[] = []
  const read = tailReader((line) => lines.push(line))
  const event = { outcome: 'ok', logs: [{ message: ['{"event":"run"}'], level: 'log' }, { message: ['a', 1] }] }
  for (const line of JSON.stringify(event, null, 2).split('\n')) read(line)
  read(JSON.stringify(event))
  expect(lines).toEqual(['{"event":"run"}', 'a 1', '{"event":"run"}', 'a 1'])
})
