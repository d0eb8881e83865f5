import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parse } from 'smol-toml'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { type Command, start } from '../cli/command.ts'

const REPOSITORY = new URL('../..', import.meta.url).pathname
const temp = mkdtempSync(join(tmpdir(), 'deploy-test-'))
const commands: Command[] = []

afterAll(() => {
  for (const command of commands) command.kill()
  rmSync(temp, { recursive: true })
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

async function ended(command: Command): Promise<Ended> {
  commands.push(command)
  return { code: await command.ended, out: command.out(), errors: command.errors() }
}

test('npm run deploy -- --dry-run builds every Worker but the offline model, the edge last, and prints what each weighs', async () => {
  const { code, out, errors } = await ended(start('npm', ['run', 'deploy', '--', '--dry-run']))
  expect(code, errors).toBe(0)
  const tools = globSync('tools/*/wrangler.toml').filter((config) => config !== 'tools/offline/wrangler.toml')
  const names = [...tools.toSorted(), 'wrangler.toml'].map((config) => {
    return parse(readFileSync(config, 'utf8'))['name']
  })
  const table = out.slice(out.indexOf('Worker ')).trimEnd().split('\n')
  expect(table.map((row) => row.split(/\s+/)[0])).toEqual(['Worker', ...names])
  for (const row of table.slice(1)) expect(row).toMatch(/^\S+ +\d+\.\d\d KiB +\d+\.\d\d KiB$/)
}, 60_000)

test('a Worker that does not build ends a dry run', async () => {
  const root = repository({ 'tools/one/index.js': `import './missing.js'` })
  const { code, out, errors } = await deploy(root, { args: ['--dry-run'] })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toMatch(
    /^edgecall-one does not build \(tools\/one\/wrangler\.toml\)\. wrangler says:\n[^]*missing\.js/,
  )
})

test('deploys the tool Workers, then the edge, then the definitions', async () => {
  const cloud = await startCloud()
  const env = { EDGECALL_URL: `${cloud.url}/`, EDGECALL_KEY: 'ek_1' }
  const { code, out, errors } = await deploy(repository(), { cloud, env })
  expect(code, errors).toBe(0)
  expect(cloud.writes).toEqual([
    'deploy edgecall-one',
    'deploy edgecall',
    'put /tools/hours Bearer ek_1 {"name":"hours"}',
  ])
  expect(out).toMatch(/\nStored at .+: hours\n$/)
}, 60_000)

test('without the address of the edge it lists the definitions that were not stored and how to store them', async () => {
  const cloud = await startCloud()
  const { code, out } = await deploy(repository(), { cloud })
  expect(code).toBe(0)
  expect(out).toMatch(
    /\nThe definitions of tools\/definitions were not stored: hours\.\nTo store them, .* EDGECALL_URL, .* EDGECALL_KEY, /,
  )
  expect(cloud.writes).toEqual(['deploy edgecall-one', 'deploy edgecall'])
})

test('a Worker that cannot be deployed ends the deployment before the Workers after it', async () => {
  const cloud = await startCloud({ refused: 'edgecall-one' })
  const { code, errors } = await deploy(repository(), { cloud })
  expect(code).toBe(1)
  expect(cloud.writes).toEqual([])
  expect(errors).toMatch(/\nedgecall-one was not deployed; wrangler says why above\. Not tried after it: edgecall\.\n/)
})

/** A repository with one tool Worker, the edge and a definition; `files` are written over it. */
function repository(files: Record<string, string> = {}): string {
  const root = mkdtempSync(join(temp, 'repository-'))
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  const worker = 'export default { fetch: () => new Response() }'
  const all = {
    'wrangler.toml': 'name = "edgecall"\nmain = "index.js"\ncompatibility_date = "2026-10-23"\n',
    'index.js': worker,
    'tools/one/wrangler.toml': 'name = "edgecall-one"\nmain = "index.js"\ncompatibility_date = "2026-10-23"\n',
    'tools/one/index.js': worker,
    'tools/definitions/hours.json': '{"name":"hours"}',
    ...files,
  }
  for (const [file, content] of Object.entries(all)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), content)
  }
  return root
}

interface DeployOptions {
  readonly args?: readonly string[]
  readonly cloud?: Cloud
  readonly env?: Record<string, string>
}

function deploy(root: string, { args = [], cloud, env }: DeployOptions): Promise<Ended> {
  const account = {
    CI: '1',
    // No account of whoever runs the tests is within reach.
    HOME: root,
    CLOUDFLARE_API_BASE_URL: `${cloud?.url}/client/v4`,
    CLOUDFLARE_API_TOKEN: 'token',
    CLOUDFLARE_ACCOUNT_ID: 'account',
    WRANGLER_SEND_METRICS: 'false',
  }
  const main = join(REPOSITORY, 'src/cli/main.ts')
  return ended(start(process.execPath, [main, 'deploy', ...args], { cwd: root, env: { ...account, ...env } }))
}

interface Cloud {
  readonly url: string
  /** What was deployed and put, in order. */
  readonly writes: readonly string[]
}

/** As much of Cloudflare's API as deploying a plain Worker takes, and the route of an edge that stores definitions. */
async function startCloud({ refused = '' } = {}): Promise<Cloud> {
  const writes: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request
      const uploaded = method === 'PUT' ? /\/workers\/scripts\/([\w-]+)\?/.exec(url)?.[1] : undefined
      const ok = uploaded === undefined || uploaded !== refused
      if (ok && uploaded !== undefined) writes.push(`deploy ${uploaded}`)
      if (url.startsWith('/tools/')) writes.push(`put ${url} ${headers.authorization} ${body}`)
      const isNew = method === 'GET' && /\/workers\/(?:services|scripts)\//.test(url)
      const errors = isNew ? [{ code: 10090, message: 'not found' }] : ok ? [] : [{ code: 10000, message: 'refused' }]
      response.writeHead(isNew ? 404 : ok ? 200 : 403, { 'content-type': 'application/json' })
      const result = { id: 'id', subdomain: 'test', startup_time_ms: 1 }
      response.end(JSON.stringify({ success: errors.length === 0, errors, messages: [], result }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, writes }
}
