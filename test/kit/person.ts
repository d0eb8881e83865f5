/**
 * A person's path, on the packed package in an empty folder: from nothing to an answer by one's own tool, in four
 * commands and one edited file; then a second tool, a stored one, a deployment, and an upgrade.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startAccount } from '../fixtures/account/account.ts'
import { startEdge } from '../fixtures/account/edge.ts'
import { McpServer } from '../tools/mcp-server.ts'

const run = promisify(execFile)

/** How long it may take until one's own tool answers, with a warm cache of npm. */
const WITHIN_SECONDS = 60

type Step = (name: string, work: () => Promise<void>) => Promise<void>
type Command = (...args: string[]) => Promise<{ readonly stdout: string; readonly stderr: string }>

/** A project that was made by `edgecall init`. */
interface Project {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  readonly npm: Command
  readonly edgecall: Command
}

/** Walks the path in a folder, with the package in that tarball. */
export async function walkPath(folder: string, tarball: string, step: Step): Promise<void> {
  const port = String(await freePort())
  const env = { ...process.env, CI: '1', PORT: port, npm_config_loglevel: 'error', WRANGLER_SEND_METRICS: 'false' }
  const root = join(folder, 'my-edge')
  const command = (program: string, ...args: string[]) => run(program, args, { cwd: root, env })
  const project: Project = {
    ...{ folder: root, env },
    npm: (...args) => command('npm', ...args),
    edgecall: (...args) => command('npx', 'edgecall', ...args),
  }
  const init = async () => {
    const spec = `file:${tarball}`
    const args = ['--yes', '--package', spec, 'edgecall', 'init', 'my-edge', '--package', spec]
    const { stdout } = await run('npx', args, { cwd: folder, env })
    assert.match(stdout, /npm install\n {2}npm test\n {2}npm start/)
  }
  const server = await reachAnswer(project, { init, step })
  try {
    await develop(project, server, step)
  } finally {
    await server.stop()
  }
  await step('npm test checks the types and runs the tests of init and new', async () => {
    edit(project, 'tools/roll-dice/roll-dice.test.ts', (text) =>
      text
        .replace("{ request: 'an example' }", '{ count: 1 }')
        .replace('rollDice was asked for: an example', 'The sum of 1 dice is 5.'),
    )
    edit(project, 'tools/greeting/greeting.test.ts', (text) => text.replace('Hello, Ada!', 'Good day, Ada!'))
    const { stdout } = await project.npm('test').catch((error: { stdout: string }) => error)
    assert.match(stdout, /fail 0\n/, stdout)
  })
  await deployAndRollBack(project, step)
  await upgrade(project, { tarball, folder, port, step })
  await importMcp(project, step)
}

/** Brings in the tools of another MCP server. */
async function importMcp({ edgecall, folder }: Project, step: Step): Promise<void> {
  await step('import mcp makes the MCP Worker, binds it, and lists the tools of a server', async () => {
    const server = await new McpServer().listen()
    server.tools = [{ name: 'lookUp', description: 'Looks it up.', inputSchema: { type: 'object' } }]
    writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: { docs: { url: server.url } } }))
    const { stdout } = await edgecall('import', 'mcp', 'mcp.json')
    assert.match(stdout, /wrangler\.toml: TOOL_MCP is bound to my-edge-mcp\n1 tool: lookUp\n/)
    await run('npx', ['tsc'], { cwd: folder })
    server.close()
  })
}

/** From nothing to an answer by one's own tool: four commands, one edited file. */
async function reachAnswer(
  project: Project,
  { init, step }: { readonly init: () => Promise<void>; readonly step: Step },
): Promise<Served> {
  const began = Date.now()
  await step('1. npx edgecall init my-edge', init)
  await step('2. npm install', async () => void (await project.npm('install', '--no-audit', '--no-fund')))
  edit(project, 'tools/greeting/index.ts', (text) => text.replace('Hello, ${name}!', 'Good day, ${name}!'))
  const server = serve(project)
  await step('3. npx edgecall dev, after editing tools/greeting/index.ts', () => server.until('Serving http'))
  await step("4. npx edgecall call greeting --args '…'", async () => {
    const { stdout } = await project.edgecall('call', 'greeting', '--args', '{ "name": "Ada" }')
    assert.equal(stdout, 'Good day, Ada!\n')
  })
  const seconds = (Date.now() - began) / 1000
  console.log(`  from nothing to one's own tool: ${seconds.toFixed(0)} s`)
  // Other work of a machine that runs tests may take as much again.
  assert.ok(seconds < 2 * WITHIN_SECONDS, `it took ${seconds} s`)
  return server
}

/** Adds tools to the edge that runs, and breaks one. */
async function develop(project: Project, server: Served, step: Step): Promise<void> {
  const { edgecall } = project
  const path = 'tools/roll-dice/index.ts'
  const answers = (text: string) =>
    until(`the answer "${text}"`, async () => {
      const { stdout } = await edgecall('call', 'rollDice', '--args', '{ "count": 3 }').catch(() => ({ stdout: '' }))
      return stdout.includes(text)
    })
  await step('new tool adds a tool to the edge that runs', async () => {
    const { stdout } = await edgecall('new', 'tool', 'roll-dice')
    assert.match(stdout, /wrangler\.toml: TOOL_ROLL_DICE is bound to my-edge-roll-dice/)
    edit(project, path, (text) =>
      text
        .replace(/Repeats a request.*roll dice\./, 'Rolls a number of dice. Use it for games. Answers with the sum.')
        .replace(/v\.object\(.*\),\n/, "v.object({ count: v.pipe(v.number(), v.description('How many dice')) }),\n")
        .replace(/run: .*\n/, 'run: ({ count }) => `The sum of ${count} dice is ${count * 4}.`,\n'),
    )
    await answers('The sum of 3 dice is 12.')
  })
  await step('ask has the offline model call the tool', async () => {
    const { stdout } = await edgecall('ask', 'Roll 2 dice')
    assert.match(stdout, /rollDice/)
    assert.match(stdout, /The sum of 2 dice is 8\./)
  })
  await step('a changed tool is served without a restart', async () => {
    edit(project, path, (text) => text.replace('count * 4', 'count * 5'))
    await answers('is 15.')
  })
  await step('code that throws as it loads is explained in a line, and served again once it is mended', async () => {
    const before = readFileSync(join(project.folder, path), 'utf8')
    writeFileSync(join(project.folder, path), `${before}\nthrow new Error('boom')\n`)
    await server.until('tools/roll-dice/index.ts throws as it loads: boom')
    writeFileSync(join(project.folder, path), before)
    await answers('is 15.')
  })
  await step('put stores a tool, remove deletes it', async () => {
    const definition = {
      name: 'hours',
      description: 'Tells when the desk is open. Use it when somebody asks for hours.',
      inputSchema: { type: 'object', properties: {} },
      static: { text: 'From 9 to 5.' },
      default: true,
    }
    writeFileSync(join(project.folder, 'hours.json'), JSON.stringify(definition))
    await edgecall('put', 'hours.json')
    assert.equal((await edgecall('call', 'hours')).stdout, 'From 9 to 5.\n')
    assert.match((await edgecall('ask', 'What are the hours of the desk?')).stdout, /From 9 to 5/)
    await edgecall('remove', 'hours')
    assert.doesNotMatch((await edgecall('list')).stdout, /^hours /m)
  })
  await step('a second dev on the same data is refused in a line', async () => {
    const env = { ...project.env, PORT: String(await freePort()) }
    const second = run('npx', ['edgecall', 'dev'], { cwd: project.folder, env })
    const { stderr } = await second.catch((error: { stderr: string }) => error)
    assert.match(stderr, /is in use by the edge on http/)
  })
  await step('dev ends on SIGTERM', async () => {
    assert.equal(await server.stop(), 143)
    assert.ok(!existsSync(join(project.folder, '.wrangler/state/edgecall-dev.json')))
  })
}

/** Deploys to a stand-in of an account, refuses a breaking change, allows it, and goes back. */
async function deployAndRollBack(project: Project, step: Step): Promise<void> {
  const account = await startAccount()
  const edge = await startEdge(account.state, 'my-edge')
  const home = join(project.folder, '.home')
  mkdirSync(home)
  const env = { ...project.env, ...account.env, HOME: home, EDGECALL_URL: edge.url, EDGECALL_KEY: edge.key }
  const edgecall: Command = (...args) => run('npx', ['edgecall', ...args], { cwd: project.folder, env })
  const secrets = join(project.folder, 'secrets.json')
  writeFileSync(secrets, JSON.stringify({ API_KEYS: '[]', OPENAI_API_KEY: 'sk-of-the-test' }))
  const live = () =>
    Object.fromEntries(Object.entries(account.state.live()).map(([name, [first]]) => [name, first?.id]))
  try {
    await step('deploy puts the tools live first and the edge last', async () => {
      await edgecall('deploy', '--secrets', secrets)
      const scripts = Object.keys(live())
      assert.deepEqual(scripts.toSorted(), ['my-edge', 'my-edge-definitions', 'my-edge-greeting', 'my-edge-roll-dice'])
    })
    const first = live()
    await step('deploy refuses a change that breaks a contract, unless it is allowed by name', async () => {
      edit(project, 'tools/roll-dice/index.ts', (text) => text.replace('{ count:', '{ sides: v.number(), count:'))
      const refusal = await edgecall('deploy').catch((error: { stderr: string }) => error)
      assert.match(refusal.stderr, /rollDice/)
      assert.match(refusal.stderr, /--allow-break/)
      assert.deepEqual(live(), first)
      await edgecall('deploy', '--allow-break', 'rollDice')
      assert.notEqual(live()['my-edge-roll-dice'], first['my-edge-roll-dice'])
    })
    await step('rollback restores the last deployment that was different', async () => {
      // The sources are as they are deployed, so that this changes nothing.
      await edgecall('deploy')
      await edgecall('rollback')
      assert.deepEqual(live(), first)
    })
    await step('deploy and doctor notice a KV namespace that somebody deleted', async () => {
      const { namespaces } = account.state
      const at = namespaces.findIndex(({ title }) => title === 'my-edge-tools')
      const [namespace] = namespaces.splice(at, 1)
      assert.ok(namespace)
      const text = `TOOLS of my-edge is bound to the KV namespace ${namespace.id}, which the account does not have.`
      const refusal = await edgecall('deploy').catch((error: { stderr: string }) => error)
      assert.ok(refusal.stderr.includes(text), refusal.stderr)
      const report = await edgecall('doctor').catch((error: { stdout: string }) => error)
      assert.ok(report.stdout.includes(text), report.stdout)
      namespaces.push(namespace)
    })
    await step('deploy says that it would replace a version made by hand, and does so with --force', async () => {
      edit(project, 'tools/roll-dice/index.ts', (text) => text.replace('{ sides: v.number(), count:', '{ count:'))
      const script = account.state.scripts.get('my-edge-greeting')
      const [version] = script?.versions ?? []
      assert.ok(script && version)
      const foreign = { ...version, id: account.state.nextId(), message: 'by hand' }
      script.versions.push(foreign)
      script.deployments.push({ id: foreign.id, versions: [{ version_id: foreign.id, percentage: 100 }] })
      const text = `my-edge-greeting: the account runs version ${foreign.id} of test@example.com`
      const refusal = await edgecall('deploy').catch((error: { stderr: string }) => error)
      assert.ok(refusal.stderr.includes(text), refusal.stderr)
      assert.equal(live()['my-edge-greeting'], foreign.id)
      const { stdout } = await edgecall('deploy', '--force')
      assert.ok(stdout.includes(text), stdout)
      assert.notEqual(live()['my-edge-greeting'], foreign.id)
    })
    await step('deploy says that the record of deployments is gone', async () => {
      const { namespaces } = account.state
      namespaces.splice(
        namespaces.findIndex(({ title }) => title === 'my-edge-deployments'),
        1,
      )
      const refusal = await edgecall('deploy').catch((error: { stderr: string }) => error)
      assert.match(refusal.stderr, /The record of deployments .* is gone, although this project has deployed my-edge\./)
    })
  } finally {
    account.close()
    edge.close()
  }
}

interface UpgradeOptions {
  readonly tarball: string
  readonly folder: string
  readonly port: string
  readonly step: Step
}

/** Installs the package under a later version, and reads a conversation of the earlier one. */
async function upgrade(project: Project, { tarball, folder, port, step }: UpgradeOptions): Promise<void> {
  const url = `http://127.0.0.1:${port}/conversations`
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(response.ok, `${response.status} ${await response.clone().text()}`)
    return (await response.json()) as { answer?: string }
  }
  const messages = async () => (await (await fetch(`${url}/kept/messages`)).json()) as readonly unknown[]
  await step('an upgrade keeps the conversations', async () => {
    let server = serve(project)
    let before: readonly unknown[]
    try {
      await server.until('Serving http')
      await post('', { id: 'kept' })
      await post('/kept/runs', { input: 'Roll dice with count 2' })
      before = await messages()
      assert.ok(before.length >= 2)
    } finally {
      await server.stop()
    }
    await project.npm('install', '--no-audit', '--no-fund', `file:${await repack(tarball, folder)}`)
    const { version } = JSON.parse(readFileSync(join(project.folder, 'node_modules/edgecall/package.json'), 'utf8'))
    assert.equal(version, LATER)
    server = serve(project)
    try {
      await server.until('Serving http')
      assert.deepEqual(await messages(), before)
      await post('/kept/runs', { input: 'Roll dice with count 4' })
      assert.ok((await messages()).length > before.length)
    } finally {
      await server.stop()
    }
  })
}

const LATER = '0.999.0'

/** Packs the package again under a later version. Returns the path of the tarball. */
async function repack(tarball: string, folder: string): Promise<string> {
  const later = join(folder, 'later')
  mkdirSync(later)
  await run('tar', ['xzf', tarball, '-C', later])
  const path = join(later, 'package/package.json')
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), version: LATER }))
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', later], { cwd: join(later, 'package') })
  return join(later, `edgecall-${LATER}.tgz`)
}

/** Changes a file of the project. */
function edit({ folder }: Project, path: string, change: (text: string) => string): void {
  const before = readFileSync(join(folder, path), 'utf8')
  const after = change(before)
  assert.notEqual(after, before, `${path} is as expected`)
  writeFileSync(join(folder, path), after)
}

/** `edgecall dev` in a project. */
interface Served {
  /** Resolves when the output holds the text that many times. */
  until(text: string, times?: number): Promise<void>
  /** Ends it, and returns its exit code. */
  stop(): Promise<number | null>
}

function serve({ folder, env }: Project): Served {
  const main = join(folder, 'node_modules/edgecall/dist/cli/main.js')
  const node = join(folder, 'node_modules/node/bin/node')
  const child: ChildProcess = spawn(node, [main, 'dev'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = once(child, 'close').then(() => child.exitCode)
  return {
    until: (text, times = 1) =>
      until(`"${text}"`, async () => {
        if (child.exitCode !== null) throw new Error(`dev has ended:\n${output}`)
        return output.split(text).length > times
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${output}`)
      }),
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** Waits until something holds, for a minute at most. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`There is no ${what}.`)
    await sleep(100)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
