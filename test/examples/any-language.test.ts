import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checkConformance, type ToolCase } from '../../src/testing/call-checks.ts'
import { startTool, toolServiceAt } from '../../src/testing/running-tool.ts'
import { freePort } from '../cli/command.ts'

const FOLDER = 'examples/any-language/tools/inventory'
const TOKEN = 'only-for-this-test'
const hasPython = spawnSync('python3', ['-c', 'import sqlite3']).status === 0
const temp = mkdtempSync(join(tmpdir(), 'edgecall-python-'))
const running: ChildProcess[] = []

afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(temp, { recursive: true })
})

/** Starts the server, and returns what kills it and starts it again on its database. */
async function startServer(database: string): Promise<{ url: string; crash: () => Promise<void> }> {
  const port = await freePort()
  const env = { ...process.env, INVENTORY_TOKEN: TOKEN, INVENTORY_DB: join(temp, database) }
  const start = async () => {
    const child = spawn('python3', [join(FOLDER, 'server.py'), String(port)], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.push(child)
    await once(child.stdout, 'data')
    return child
  }
  let child = await start()
  return {
    url: `http://127.0.0.1:${port}`,
    crash: async () => {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
      child = await start()
    },
  }
}

/** Cases that count what is left of 40 pieces of tea, by what the tool itself says. */
function casesOf(stock: () => Promise<number>): Record<string, ToolCase> {
  const effects = async () => 40 - (await stock())
  return {
    stockOf: { arguments: { product: 'tea' } },
    reserve: { arguments: { product: 'tea', amount: 1 }, effects },
  }
}

describe.runIf(hasPython)(
  'the tools of a Python server keep the contract, with calls that take effect and a crash',
  () => {
    test('over HTTP', async () => {
      const server = await startServer('http.db')
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
      const service = toolServiceAt((path, init) => fetch(`${server.url}${path}`, { ...init, headers }))
      const { tools } = await service.describe()
      const stockOf = tools.find(({ name }) => name === 'stockOf')
      const stock = async () => {
        const context = {
          runId: 'r',
          callId: 'c',
          idempotencyKey: 'k',
          attempt: 1,
          deadline: 0,
          caller: { tenant: 't', scopes: [] },
          values: {},
        }
        const outcome = await service.call({
          name: 'stockOf',
          arguments: { product: 'tea' },
          hash: stockOf?.hash ?? '',
          context,
        })
        return outcome.ok ? Object(outcome.structured).amount : Number.NaN
      }
      expect(await checkConformance(service, { cases: casesOf(stock), crash: server.crash })).toEqual([])
      expect(await stock()).toBeLessThan(40)
    })

    test('behind the Worker that the edge binds', async () => {
      const server = await startServer('worker.db')
      const tool = await startTool(FOLDER, { vars: { INVENTORY_URL: server.url, INVENTORY_TOKEN: TOKEN } })
      const stock = async () => {
        const outcome = await tool.call('stockOf', { product: 'tea' })
        return outcome.ok ? Object(outcome.structured).amount : Number.NaN
      }
      expect(await tool.conformance(casesOf(stock))).toEqual([])
      await tool.close()
    })
  },
)
