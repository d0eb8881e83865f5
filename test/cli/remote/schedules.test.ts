import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { start } from '../command.ts'

const MAIN = new URL('../../../src/cli/main.ts', import.meta.url).pathname
const LAST = { due: '2026-01-02T07:00:00.000Z', at: '2026-01-02T07:00:00.100Z', outcome: 'started', run: 'run_1' }
const REPORT = {
  ...{ name: 'report', cron: '0 8 * * 1-5', timeZone: 'Europe/Berlin', paused: false },
  ...{ next: '2026-01-05T07:00:00.000Z', last: LAST, run: { input: 'Write.' } },
  history: [LAST, { due: '2026-01-01T07:00:00.000Z', outcome: 'refused', code: 'run_not_allowed' }],
}
const WAITING = { name: 'tidy', everySeconds: 90, paused: true, waiting: { code: 'rate_limited' } }

/** An edge that answers as `/schedules` does, what it was asked, and a folder to run commands in. */
async function edge() {
  const requests: unknown[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    requests.push([request.method, request.url, text === '' ? '' : JSON.parse(text)])
    if (request.url?.startsWith('/schedules?')) return json(200, [REPORT, WAITING])
    if (request.url?.endsWith('/none'))
      return json(404, { code: 'unknown_schedule', detail: 'There is no such schedule.' })
    if (request.method === 'DELETE') return response.writeHead(204).end()
    if (request.method === 'POST') return json(202, { ...LAST, conversation: 'conv_1' })
    return json(200, REPORT)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'schedules-test-'))
  onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const env = { EDGECALL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const run = async (...args: string[]) => {
    const command = start(process.execPath, [MAIN, 'schedules', ...args], { env, cwd: folder })
    try {
      return { code: await command.ended, out: command.out(), errors: command.errors() }
    } finally {
      command.kill()
    }
  }
  return { requests, run, folder }
}

const LINE = 'report  0 8 * * 1-5 (Europe/Berlin)  next 2026-01-05T07:00:00.000Z'
const STARTED = 'started 2026-01-02T07:00:00.000Z run_1'

test('the commands about schedules ask the edge, and print each schedule as a line', async () => {
  const { requests, run, folder } = await edge()
  const definition = { cron: '0 8 * * 1-5', run: { input: 'Write.' } }
  writeFileSync(join(folder, 'report.json'), JSON.stringify(definition))
  const answers = [
    await run('list'),
    await run('show', 'report'),
    await run('set', 'report', 'report.json'),
    await run('run', 'report'),
    await run('pause', 'report'),
    await run('resume', 'report'),
    await run('delete', 'report'),
  ]
  expect(answers).toEqual(
    [
      `${LINE}  last ${STARTED}\ntidy  every 90 s  paused  waits (rate_limited)\n`,
      `${LINE}\n{"input":"Write."}\n${STARTED}\nrefused (run_not_allowed) 2026-01-01T07:00:00.000Z\n`,
      `${LINE}  last ${STARTED}\n`,
      'run_1 in conv_1\n',
      `${LINE}  last ${STARTED}\n`,
      `${LINE}  last ${STARTED}\n`,
      'report is removed.\n',
    ].map((out) => ({ code: 0, out, errors: '' })),
  )
  expect(requests).toEqual([
    ['GET', '/schedules?limit=1000', ''],
    ['GET', '/schedules/report', ''],
    ['PUT', '/schedules/report', definition],
    ['POST', '/schedules/report/run', ''],
    ['PATCH', '/schedules/report', { paused: true }],
    ['PATCH', '/schedules/report', { paused: false }],
    ['DELETE', '/schedules/report', ''],
  ])
})

test('a command about schedules says why the edge refuses it, or why a file cannot be read', async () => {
  const { run } = await edge()
  const show = await run('show', 'none')
  expect([show.code, show.errors]).toEqual([1, expect.stringContaining('There is no such schedule.')])
  const missing = await run('set', 'report', 'missing.json')
  expect([missing.code, missing.errors]).toEqual([1, expect.stringContaining('missing.json cannot be read')])
})
