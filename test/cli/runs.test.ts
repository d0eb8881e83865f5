import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

async function run(args: string[], env: Record<string, string> = {}) {
  const words = args[0] === 'approvals' ? args : ['runs', ...args]
  const command = start(process.execPath, [MAIN, ...words], { cwd: process.cwd(), env })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

/** An edge that answers each request with this, and the requests that it got. */
async function edge(status: number, body: unknown): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

test('the command runs retries and cancels a run, and prints its status', async () => {
  const { url, requests } = await edge(200, { status: 'running' })
  expect(await run(['retry', 'c_1', 'run_1', '--url', url], { EDGECALL_KEY: 'ek_1' })).toEqual({
    code: 0,
    out: 'run_1: running\n',
    errors: '',
  })
  await run(['cancel', 'c_1', 'run_1'], { EDGECALL_URL: url, EDGECALL_KEY: 'ek_1' })
  expect(requests).toEqual([
    'POST /conversations/c_1/runs/run_1/retry Bearer ek_1',
    'POST /conversations/c_1/runs/run_1/cancel Bearer ek_1',
  ])
})

test('the command runs prints why the edge refuses, and names missing arguments', async () => {
  const { url } = await edge(409, { status: 409, code: 'run_not_parked', detail: 'This run is not parked.' })
  expect(await run(['retry', 'c_1', 'run_1', '--url', url])).toMatchObject({
    code: 1,
    errors: 'The run was not changed: This run is not parked.\n',
  })
  expect(await run(['retry', 'c_1', '--url', url])).toMatchObject({
    code: 2,
    errors: expect.stringContaining('runs retry needs <run>'),
  })
})

test('the command approvals lists what waits, with the program around a call and where it is decided', async () => {
  const shared = { run: 'run_1', conversation: 'c_1', tool: 'pay', expires: Date.UTC(2027, 0, 2, 3, 4, 5) }
  const program = 'const amount = 1 \u001b[2J\nreturn tools.pay({ amount })'
  const { url, requests } = await edge(200, [
    { id: 'call_1_1_0-1', ...shared, arguments: { amount: 1 }, program },
    { id: 'call_1_1_1', ...shared },
  ])
  expect(await run(['approvals', '--url', url], { EDGECALL_KEY: 'ek_1' })).toEqual({
    code: 0,
    out: `pay {"amount":1}
  made by this program:
      1  const amount = 1 \\u001b[2J
  >   2  return tools.pay({ amount })
  until 2027-01-02T03:04:05.000Z, decide by POST /conversations/c_1/runs/run_1/calls/call_1_1_0-1
pay (long arguments)
  until 2027-01-02T03:04:05.000Z, decide by POST /conversations/c_1/runs/run_1/calls/call_1_1_1
`,
    errors: '',
  })
  expect(requests).toEqual(['GET /approvals Bearer ek_1'])
  const nothing = await edge(200, [])
  expect((await run(['approvals', '--url', nothing.url])).out).toBe('Nothing waits for approval.\n')
})
