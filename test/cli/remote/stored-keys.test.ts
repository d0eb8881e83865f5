import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { start } from '../command.ts'

const MAIN = new URL('../../../src/cli/main.ts', import.meta.url).pathname

const KEY = { id: 'app', tenant: 'acme', scopes: ['chat'], disabled: false }

/** An edge that answers as `/keys` does, and what it was asked. */
async function edge() {
  const requests: unknown[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    requests.push([request.method, request.url, request.headers.authorization, text === '' ? '' : JSON.parse(text)])
    if (request.url === '/keys' && request.method === 'GET') return json(200, { keys: [KEY], next: 'a/b' })
    if (request.url === '/keys?after=a%2Fb')
      return json(200, { keys: [{ ...KEY, id: 'web', expires: Date.UTC(2027, 0), disabled: true }] })
    if (request.url === '/keys/strong/rotate')
      return json(403, { code: 'scope_not_held', detail: 'The key has the scope "backup", which yours lacks.' })
    return json(request.url === '/keys' ? 201 : 200, { ...KEY, key: 'ek_new' })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const env = {
    EDGECALL_KEY: 'ek_operator',
    EDGECALL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
  const run = async (...args: string[]) => {
    const command = start(process.execPath, [MAIN, 'keys', ...args], { env })
    try {
      return { code: await command.ended, out: command.out(), errors: command.errors() }
    } finally {
      command.kill()
    }
  }
  return { requests, run }
}

test('the commands about stored keys ask the edge, with the key of an operator', async () => {
  const { requests, run } = await edge()
  const secret = 'ek_new\n\nThat is the key app, shown this once.\n'
  const answers = [
    await run('new', 'app', '--stored', '--tenant', 'acme', '--scope', 'chat', '--expires', '2027-01-31'),
    await run('rotate', 'app', '--keep-old'),
    await run('disable', 'app'),
    await run('enable', 'app'),
    await run('list'),
  ]
  expect(answers).toEqual(
    [
      secret,
      secret,
      'app is disabled; edges know within a minute.\n',
      'app is enabled; edges know within a minute.\n',
      'app  acme  chat\nweb  acme  chat  until 2027-01-01T00:00:00.000Z  disabled\n',
    ].map((out) => ({ code: 0, out, errors: '' })),
  )
  const authorization = 'Bearer ek_operator'
  const terms = { id: 'app', tenant: 'acme', scopes: ['chat'], expires: '2027-01-31' }
  expect(requests).toEqual([
    ['POST', '/keys', authorization, terms],
    ['POST', '/keys/app/rotate', authorization, { keepOld: true }],
    ['PATCH', '/keys/app', authorization, { disabled: true }],
    ['PATCH', '/keys/app', authorization, { disabled: false }],
    ['GET', '/keys', authorization, ''],
    ['GET', '/keys?after=a%2Fb', authorization, ''],
  ])
})

test('a command about a stored key says why the edge refuses it', async () => {
  const { run } = await edge()
  const { code, errors } = await run('rotate', 'strong')
  expect(code).toBe(1)
  expect(errors).toContain('strong was not rotated: The key has the scope "backup", which yours lacks.')
})
