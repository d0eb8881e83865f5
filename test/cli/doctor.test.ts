import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readVersions, type RuntimeVersions, versionProblems } from '../../src/cli/check/versions.ts'
import type { Terminal } from '../../src/cli/command/terminal.ts'
import { readTargets } from '../../src/cli/check/target.ts'
import { doctor as runDoctor } from '../../src/cli/doctor/doctor.ts'
import type { DoctorFinding } from '../../src/cli/doctor/finding.ts'
import { toolsHere } from '../../src/cli/doctor/tools.ts'
import { startAccount } from '../fixtures/account/account.ts'
import { makeProject, PROJECT } from '../fixtures/account/project.ts'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname
const NOT_DEPLOYED = { 'package.json': '{ "name": "acme" }\n' }
const CLEAR = 'Use it when the user asks when the shop is open.'

function projectOf(files: Readonly<Record<string, string>> = NOT_DEPLOYED): string {
  const project = makeProject({
    'tools/definitions/hours.json': JSON.stringify({ name: 'hours', description: CLEAR, static: 'nine to five' }),
    ...files,
  })
  onTestFinished(() => project.remove())
  return project.root
}

/** What it prints for programs. */
type Printed = Partial<DoctorFinding> & Readonly<Record<string, unknown>>

/** Runs the command as its own process does, in this one, which reads wrangler once for all tests. */
async function doctor(
  root: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Record<string, string> } = {},
) {
  const { values: options } = parseArgs({
    args: [...args],
    options: { url: { type: 'string' }, env: { type: 'string' }, json: { type: 'boolean' } },
  })
  const values: Printed[] = []
  let out = ''
  const terminal: Terminal = {
    isJson: options.json === true,
    print: (text) => void (out += text),
    emit: (value) => void (options.json && values.push(JSON.parse(JSON.stringify(value)))),
    askSecret: () => Promise.reject(new Error('doctor asks for nothing')),
    confirm: () => Promise.reject(new Error('doctor asks for nothing')),
  }
  const environment = options.env ?? 'production'
  const { signal } = new AbortController()
  const code = await runDoctor({
    root,
    env: { ...process.env, ...env },
    terminal,
    signal,
    url: options.url,
    environment,
  })
  return { code, out, values }
}

/** An edge that lists these tools. */
async function edgeOf(tools: readonly object[], status = 200): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(tools))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ONE = {
  name: 'one',
  description: 'Use it when the user wants one.',
  hash: 'h',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  source: 'service',
  place: 'TOOL_ONE',
  available: true,
}
const CHANGED_TOOL = {
  name: 'two',
  source: 'service',
  place: 'TOOL_TWO',
  available: false,
  reason: 'it changed',
  accepted: 'h',
}
const DOWN = { name: 'TOOL_FAR', source: 'service', place: 'TOOL_FAR', available: false, reason: 'it does not answer' }

test('doctor reports the tools of an edge that are not available, each with its file and remedy, and exits with 1', async () => {
  const url = await edgeOf([ONE, CHANGED_TOOL, DOWN])
  const { code, values } = await doctor(projectOf(), { args: ['--url', url, '--json'] })
  expect(values).toEqual([
    {
      level: 'error',
      topic: 'tools',
      file: 'tools/two/index.js',
      message: 'two is not available: it changed.',
      remedy: 'Its definition has changed: look at GET /tools/two, then POST /tools/two/accept.',
    },
    {
      level: 'error',
      topic: 'tools',
      file: url,
      message: 'TOOL_FAR is not available: it does not answer.',
      remedy: 'It comes from TOOL_FAR: correct it there, or remove it.',
    },
    {
      level: 'warning',
      topic: 'descriptions',
      file: 'tools/one/index.js',
      message: 'one requires id without a description.',
      remedy: 'Say what the value is and how it is written, such as "Order number, such as A-1001".',
    },
    {
      versions: { node: process.versions.node, edgecall: expect.any(String), wrangler: expect.any(String) },
      tools: 1,
      errors: 2,
      warnings: 1,
      notChecked: ['what is deployed: this project has not been deployed yet'],
    },
  ])
  expect(code).toBe(1)
})

test('doctor warns of the tools of other MCP servers that are left out, with the reason, and exits with 0', async () => {
  const reason = 'The tool "film" of the server "studio" is left out: it can only be run as a task.'
  const film = { name: 'film', source: 'mcp', place: 'TOOL_MCP', available: false, offered: false, reason }
  const url = await edgeOf([{ ...ONE, inputSchema: { type: 'object' } }, film])
  const { code, values } = await doctor(projectOf(), { args: ['--url', url, '--json'] })
  expect(values[0]).toEqual({
    level: 'warning',
    topic: 'tools',
    file: url,
    message: `film is not available: ${reason}`,
    remedy: 'It comes from another MCP server: models do without it.',
  })
  expect([code, values.length]).toEqual([0, 2])
  const { targets } = await readTargets({ root: projectOf(), environment: 'production' })
  const here = toolsHere(
    { descriptions: new Map([['acme-one', []]]), missing: new Map([['acme-one', [{ name: 'film', reason }]]]) },
    { targets, definitions: [] },
  )
  expect(here.findings).toEqual([{ ...values[0], file: 'tools/one/index.js' }])
})

test('doctor says how an agent gets the model that it lacks', async () => {
  const reason = 'It has no model: MODEL is not set.'
  const agent = { name: 'proofreader', source: 'agent', place: 'TOOL_ONE', available: false, offered: false, reason }
  const { code, values } = await doctor(projectOf(), { args: ['--url', await edgeOf([agent]), '--json'] })
  expect(values[0]).toEqual({
    level: 'error',
    topic: 'tools',
    file: 'tools/one/index.js',
    message: `proofreader is not available: ${reason}`,
    remedy:
      'Set MODEL, and the key of its provider, for its Worker: on this machine in .dev.vars beside its wrangler.toml.',
  })
  expect(code).toBe(1)
  const { targets } = await readTargets({ root: projectOf(), environment: 'production' })
  const missing = new Map([['acme-one', [{ name: 'proofreader', reason, source: 'agent' }]]])
  const here = toolsHere({ descriptions: new Map(), missing }, { targets, definitions: [] })
  expect(here.findings).toEqual([{ ...values[0], level: 'warning' }])
})

test('doctor reports patterns of variables that match no tool, as long as all tools are known', async () => {
  const withPolicy = (policy: object) =>
    projectOf({
      ...NOT_DEPLOYED,
      'wrangler.toml': `${PROJECT['wrangler.toml']}\n[vars]\nTOOL_POLICY = '${JSON.stringify(policy)}'\nDEFAULT_TOOLS = "one,!files.*,tow"\n`,
    })
  const tools = [ONE, { ...ONE, name: 'files_x2e_read', place: 'TOOL_TWO' }]
  const warnings = async (policy: object, listed: readonly object[] = tools) => {
    const { values } = await doctor(withPolicy(policy), { args: ['--url', await edgeOf(listed), '--json'] })
    return values.flatMap(({ topic, level, message }) => (topic === 'tools' && level === 'warning' ? [message] : []))
  }
  const unmatched = (variable: string, pattern: string) =>
    `${variable} names "${pattern}", which matches no tool, so that it has no effect.`
  const policy = { 'files.read': {}, 'files.raed': {}, '@TOOL_ONE': {}, '@TOOL_X': {} }
  expect(await warnings(policy)).toEqual([
    unmatched('TOOL_POLICY', 'files.raed'),
    unmatched('TOOL_POLICY', '@TOOL_X'),
    unmatched('DEFAULT_TOOLS', 'tow'),
  ])
  // A source that does not answer may have the tool, and a policy may hide it from this key.
  expect(await warnings(policy, [...tools, DOWN])).toEqual([])
  expect(await warnings({ ...policy, tow: { scopes: ['x'] } })).toEqual([])
})

test('doctor exits with 0 if there are only warnings, such as a secret that is missing on this machine', async () => {
  const url = await edgeOf([])
  const root = projectOf({
    ...NOT_DEPLOYED,
    'tools/one/wrangler.toml': `${PROJECT['tools/one/wrangler.toml']}[vars]\nSERVERS = "{SECRET_A} {SECRET_B}"\n`,
    'tools/one/.dev.vars': 'SECRET_B=b\n',
    'tools/free/wrangler.toml': 'name = "acme-free"\nmain = "index.js"\n',
    'hooks.ts': "export const schemes = [githubWebhooks('CODE_SECRET'), stripeWebhooks('MONEY_SECRET')]\n",
    '.dev.vars': 'CODE_SECRET=one\nMONEY_SECRET=one\n',
  })
  const { code, out } = await doctor(root, { args: ['--url', url] })
  expect(out).toMatch(/^Node \S+, wrangler \S+, edgecall \S+\n/)
  expect(out.split('\n').slice(1)).toEqual([
    'warning  tools/free/wrangler.toml: acme-free is not bound to the edge, so it is not used. Add a [[services]] stanza for it to wrangler.toml, or remove its folder.',
    'warning  tools/one/.dev.vars: acme-one needs SECRET_A on this machine. Add a line SECRET_A=… to the file.',
    'warning  wrangler.toml: Several webhook triggers have the same secret, of CODE_SECRET and MONEY_SECRET: each accepts what was signed for another. Give each trigger a secret of its own.',
    'Not checked: what is deployed: this project has not been deployed yet',
    '0 tools: 0 errors, 3 warnings',
    '',
  ])
  expect(code).toBe(0)
})

test('doctor reports an edge that does not answer, and one that refuses the key, as errors', async () => {
  const far = await doctor(projectOf(), { args: ['--url', 'http://127.0.0.1:9', '--json'] })
  expect(far.values[0]).toMatchObject({ level: 'error', message: expect.stringContaining('does not answer') })
  expect(far.code).toBe(1)
  const refusal = await doctor(projectOf(), { args: ['--url', await edgeOf([], 401), '--json'] })
  expect(refusal.values[0]).toMatchObject({ level: 'error', remedy: 'Set EDGECALL_KEY to a key of this edge.' })
})

test('doctor reports a configuration and a definition that cannot be read, with the line', async () => {
  const root = projectOf({ ...NOT_DEPLOYED, 'tools/definitions/bad.json': '{' })
  writeFileSync(join(root, 'tools/one/wrangler.toml'), 'name = "acme-one"\nmain = \n')
  const { code, values } = await doctor(root, { args: ['--json'] })
  expect(values.map(({ level, file, line }) => [level, file, line])).toEqual([
    ['error', 'tools/one/wrangler.toml', 2],
    ['error', 'tools/definitions/bad.json', undefined],
    [undefined, undefined, undefined],
  ])
  expect(code).toBe(1)
})

test('doctor reports tools whose binding the edge does not look at', async () => {
  const loose = '[[services]]\nbinding = "ONE"\nservice = "acme-one"\n'
  const root = projectOf({ ...NOT_DEPLOYED, 'wrangler.toml': `name = "acme"\nmain = "index.js"\n${loose}` })
  const { values } = await doctor(root, { args: ['--url', await edgeOf([]), '--json'] })
  expect(values).toContainEqual({
    level: 'warning',
    topic: 'project',
    file: 'wrangler.toml',
    message: 'acme-one is bound as ONE, so the edge does not find its tools.',
    remedy: 'Name the binding TOOL_ONE.',
  })
})

test('doctor reports a Node, a wrangler and an edgecall that are missing, too old, or another', () => {
  const root = projectOf()
  const { wrangler: current = '' } = readVersions(root)
  const versions = { node: '24.0.0', edgecall: '0.1.0', wrangler: current }
  const messages = (changes: Partial<RuntimeVersions>, folder = root) =>
    versionProblems(folder, { ...versions, ...changes }).map(({ message, remedy }) => `${message} ${remedy}`)
  expect(messages({})).toEqual([])
  expect(messages({ node: '22.11.0' })).toEqual(['Node 22.11.0 is too old for wrangler. Install Node 22.12 or newer.'])
  expect(messages({ wrangler: '3.0.0' })).toEqual([
    expect.stringMatching(
      /^wrangler 3\.0\.0 is older than \S+, which this version of edgecall needs\. Run npm install -D/,
    ),
  ])
  const { wrangler: _, ...without } = versions
  expect(versionProblems(root, without)).toMatchObject([{ message: 'wrangler is not installed.' }])
  const other = mkdtempSync(join(tmpdir(), 'edgecall-doctor-'))
  onTestFinished(() => rmSync(other, { recursive: true }))
  mkdirSync(join(other, 'node_modules/edgecall'), { recursive: true })
  writeFileSync(join(other, 'node_modules/edgecall/package.json'), '{ "version": "0.0.9" }')
  expect(messages({}, other)).toEqual([
    'This is edgecall 0.1.0, and the project depends on 0.0.9. Run it with npx in the folder of the project.',
  ])
})

test('doctor reports a tool Worker without tools, and not the Worker that performs stored tools', async () => {
  const definitions = '\n[[services]]\nbinding = "DEFINITIONS"\nservice = "acme-definitions"\n'
  const root = projectOf({
    'wrangler.toml': `${PROJECT['wrangler.toml']}${definitions}`,
    'tools/definitions/wrangler.toml': 'name = "acme-definitions"\nmain = "index.js"\n',
  })
  const { targets } = await readTargets({ root, environment: 'production' })
  const described = new Map(targets.flatMap(({ name, role }) => (role === 'tool' ? [[name, []] as const] : [])))
  expect([...described.keys()]).toEqual(['acme-definitions', 'acme-one', 'acme-two'])
  const { findings } = toolsHere({ descriptions: described, missing: new Map() }, { targets, definitions: [] })
  expect(findings).toEqual(
    ['one', 'two'].map((name) => ({
      ...{ level: 'warning', topic: 'tools', file: `tools/${name}/wrangler.toml` },
      message: `acme-${name} describes no tools.`,
      remedy: 'Export what serveTools(…) of edgecall/tool makes as the default of its main module.',
    })),
  )
})

test('doctor needs a project', async () => {
  const root = projectOf()
  const command = start(process.execPath, [MAIN, 'doctor'], { cwd: join(root, 'tools') })
  onTestFinished(() => command.kill())
  expect(await command.ended).toBe(1)
  expect(command.errors()).toMatch(/^There is no wrangler\.toml in .*\nRun this in the folder of your edge\.\n$/)
})

test('doctor without an edge compares the patterns with the Workers and definitions of the project', async () => {
  const root = projectOf({
    ...NOT_DEPLOYED,
    'wrangler.toml': `${PROJECT['wrangler.toml']}\n[vars]\nMAX_CALLS_PER_TOOL = '{"one":1,"hours":2,"three":3}'\n`,
  })
  const { values } = await doctor(root, { args: ['--json'] })
  const warnings = values.filter(({ topic }) => topic === 'tools')
  expect(warnings).toEqual([
    {
      level: 'warning',
      topic: 'tools',
      file: 'wrangler.toml',
      message: 'MAX_CALLS_PER_TOOL names "three", which matches no tool, so that it has no effect.',
      remedy: 'Correct or remove it.',
    },
  ])
})

test('doctor without an edge starts the Workers of the project, and tells what differs from the deployment', async () => {
  const account = await startAccount()
  onTestFinished(() => account.close())
  const { state } = account
  const worker = (name: string, role: 'tool' | 'edge') => {
    const id = state.nextId()
    const version = { id, tag: '', message: '', bindings: [], modules: {}, mainModule: '' }
    const deployments = [{ id, versions: [{ version_id: id, percentage: 100 }] }]
    state.scripts.set(name, { versions: [version], deployments, workersDev: false })
    return { name, role, version: id, hash: 'other', size: 1, gzip: 1, tools: [] }
  }
  const workers = [worker('acme-one', 'tool'), worker('acme-old', 'tool'), worker('acme', 'edge')]
  workers.push({ ...worker('acme-two', 'tool'), version: 'v-lost' })
  const at = '2026-11-23T00:00:00Z'
  const current = { id: 'm1', at, environment: 'production', workers, definitions: [] }
  const attempt = { kind: 'deploy', id: 'd1', at, workers: {}, live: [], writes: [], definitions: [] }
  const record = { format: 1, project: 'p1', previous: [], current, attempt }
  const values = new Map([['deployments', JSON.stringify(record)]])
  state.namespaces.push({ id: 'n'.repeat(32), title: 'acme-deployments', values })

  const root = projectOf({
    'package.json': PROJECT['package.json'] ?? '',
    'tools/one/wrangler.toml': `${PROJECT['tools/one/wrangler.toml']}[vars]\nSERVERS = "{SECRET_ONE}"\n`,
    'tools/one/.dev.vars': 'SECRET_ONE=1\n',
  })
  const { code, values: findings } = await doctor(root, { args: ['--json'], env: { ...account.env } })
  expect(findings.map(({ level, file, message }) => `${level} ${file}: ${message}`)).toEqual([
    'error tools/one/wrangler.toml: The deployed Worker acme-one does not have the secret SECRET_ONE.',
    'error wrangler.toml: It answers 503 to everyone: it has neither API_KEYS nor IDENTITY_PROVIDERS. Set the secret API_KEYS.',
    'error wrangler.toml: Runs that name no model are refused: MODEL is not set in wrangler.toml.',
    `error wrangler.toml: A deploy was begun at ${at} and is not finished.`,
    `warning tools/one/wrangler.toml: acme-one here is not what was deployed at ${at}.`,
    'warning tools/two/wrangler.toml: The account runs a version of acme-two that edgecall did not deploy.',
    `warning wrangler.toml: acme here is not what was deployed at ${at}.`,
    'warning wrangler.toml: acme-old is deployed, but no Worker here has that name.',
    'warning tools/definitions/hours.json: hours is not stored at the edge as it is here.',
    'warning tools/one/index.js: The description of one does not say when to use it.',
    'warning tools/two/index.js: The description of two does not say when to use it.',
    'undefined undefined: undefined',
  ])
  expect(findings.at(-1)).toMatchObject({ tools: 3, errors: 4, warnings: 7, notChecked: [] })
  expect(code).toBe(1)
  expect(account.writes).toEqual([])
})
