import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { unstable_readConfig } from 'wrangler'
import { addHttpTool, addWorker } from '../../../src/cli/project/add.ts'
import { SINGLE_WORKER } from '../../../src/cli/project/coding-guide.ts'
import { exportedTools } from '../../../src/cli/project/exported-tools.ts'
import { addTrigger, TRIGGER_KINDS } from '../../../src/cli/project/trigger-files.ts'
import { init, nextSteps } from '../../../src/cli/project/init.ts'
import { findWorkers, unbound } from '../../../src/cli/workers.ts'
import { definitionIssues } from 'edgecall/test'

/** An empty folder. */
function emptyFolder(): string {
  const root = mkdtempSync(join(tmpdir(), 'init-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  return root
}

/** A project that `init` has made. */
function project(): string {
  const root = emptyFolder()
  init({ root, folder: 'My-Edge', edgecall: undefined })
  return join(root, 'My-Edge')
}

test('init makes an edge that is bound to its tool Worker', () => {
  const { edge, tools } = findWorkers(project())
  expect(edge.name).toBe('my-edge')
  expect([...edge.services]).toEqual([
    ['DEFINITIONS', 'my-edge-definitions'],
    ['TOOL_GREETING', 'my-edge-greeting'],
  ])
  expect(tools.map(({ name }) => name)).toEqual(['my-edge-definitions', 'my-edge-greeting'])
})

test('init depends on this version, and on the wrangler that it was tested with', () => {
  const own = JSON.parse(readFileSync('package.json', 'utf8'))
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(project(), 'package.json'), 'utf8'))
  expect(dependencies.edgecall).toBe(`^${own.version}`)
  expect(devDependencies.wrangler).toBe(own.devDependencies.wrangler)
})

test('init tells coding agents how to work on the project, and what is different in a single Worker', () => {
  const root = emptyFolder()
  init({ root, folder: 'one', edgecall: undefined, single: true })
  const several = readFileSync(join(project(), 'AGENTS.md'), 'utf8')
  const single = readFileSync(join(root, 'one/AGENTS.md'), 'utf8')
  expect(single.replace(SINGLE_WORKER, '').replaceAll('one is', 'my-edge is')).toBe(several)
  expect(several.match(/^## .*$/gm)).toEqual(['## Add a tool', '## Test it', '## Set a policy', '## Deploy'])
})

test('init refuses a folder that is not empty, and writes nothing', () => {
  const root = emptyFolder()
  writeFileSync(join(root, 'notes.txt'), '')
  expect(() => init({ root, folder: '.', edgecall: undefined })).toThrow('. is not empty: it has notes.txt.')
  expect(existsSync(join(root, 'package.json'))).toBe(false)
})

test('new tool adds a Worker, and binds it under the name of the edge', () => {
  const root = project()
  expect(addWorker(root, 'tool', 'rollDice')).toEqual({
    files: ['tools/roll-dice/index.ts', 'tools/roll-dice/roll-dice.test.ts', 'tools/roll-dice/wrangler.toml'],
    bound: { binding: 'TOOL_ROLL_DICE', service: 'my-edge-roll-dice', config: 'wrangler.toml' },
  })
  expect(unbound(findWorkers(root))).toEqual([])
})

test('the texts of a new tool fit its name, and its test expects what it answers', () => {
  const root = project()
  addWorker(root, 'tool', 'roll-dice')
  const module = readFileSync(join(root, 'tools/roll-dice/index.ts'), 'utf8')
  expect(module).toContain(
    "description: 'Repeats a request for roll dice, until it is written. Use it when somebody asks for roll dice.',",
  )
  expect(module).toContain('run: ({ request }) => `rollDice was asked for: ${request}`,')
  expect(module).not.toMatch(/greet/i)
  expect(readFileSync(join(root, 'tools/roll-dice/roll-dice.test.ts'), 'utf8')).toContain(
    "text: 'rollDice was asked for: an example'",
  )
})

test('wrangler reads all that the configurations of init and new say', () => {
  const root = project()
  addWorker(root, 'agent', 'proofreader')
  const flags = (path: string) =>
    unstable_readConfig({ config: join(root, path, 'wrangler.toml') }, { hideWarnings: true }).compatibility_flags
  expect(flags('')).toEqual(['enable_request_signal', 'global_fetch_strictly_public'])
  expect(flags('tools/definitions')).toEqual(['global_fetch_strictly_public'])
  expect(flags('tools/proofreader')).toEqual(['global_fetch_strictly_public'])
  expect(flags('tools/greeting')).toEqual([])
})

test('init binds the namespace in which keys are disabled', () => {
  const root = emptyFolder()
  init({ root, folder: 'many', edgecall: undefined })
  init({ root, folder: 'one', edgecall: undefined, single: true })
  const namespaces = (folder: string) =>
    unstable_readConfig({ config: join(root, folder, 'wrangler.toml') }, { hideWarnings: true }).kv_namespaces
  expect(namespaces('many')).toEqual([{ binding: 'TOOLS' }, { binding: 'KEYS' }])
  expect(namespaces('one')).toEqual([{ binding: 'KEYS' }])
})

test('the next steps mention the warnings of npm under an old Node', () => {
  const added = { folder: 'my-edge', files: ['a', 'b'] }
  const steps = '2 files in my-edge. Next:\n\n  cd my-edge\n  npm install\n  npm test\n  npm start\n'
  expect(nextSteps(added, '24.1.0')).toBe(steps)
  expect(nextSteps(added, '20.20.2')).toBe(
    `${steps}\nnpm install will warn that wrangler needs a newer Node than 20.20.2: the project brings one, which its scripts and npx use.\n`,
  )
})

test('new tool refuses a name that is invalid or in use', () => {
  const root = project()
  const config = readFileSync(join(root, 'wrangler.toml'), 'utf8')
  expect(() => addWorker(root, 'tool', 'greeting')).toThrow('There is already tools/greeting.')
  expect(() => addWorker(root, 'tool', '../x')).toThrow('"../x" cannot be a name.')
  expect(readFileSync(join(root, 'wrangler.toml'), 'utf8')).toBe(config)
})

test('new tool refuses to run outside a project', () => {
  const root = emptyFolder()
  expect(() => addWorker(root, 'tool', 'dice')).toThrow(`There is no wrangler.toml in ${root}.`)
})

test('new agent adds a Worker with an agent, and binds it', () => {
  const root = project()
  const { bound, note } = addWorker(root, 'agent', 'proofreader')
  expect(bound?.binding).toBe('TOOL_PROOFREADER')
  expect(note).toMatch(/^The edge lists it as not available until it has a model of its own: /)
  expect(readFileSync(join(root, 'tools/proofreader/index.ts'), 'utf8')).toContain('[proofreader],')
})

test('new http-tool adds a definition that an edge accepts', () => {
  const root = project()
  addHttpTool(root, 'exchange-rates')
  expect(definitionIssues(join(root, 'tools/definitions/exchange-rates.json'))).toEqual([])
})

const STANZAS: Partial<Record<(typeof TRIGGER_KINDS)[number], string>> = {
  queue: '\n[[queues.consumers]]\nqueue = "new-orders"\n',
  cron: '\n[triggers]\ncrons = ["0 2 * * *"]\n',
  email: '\n[[send_email]]\nname = "MAIL"\n',
}

test.each(TRIGGER_KINDS)(
  'new trigger adds a trigger of the kind %s that compiles, and says what else it needs',
  (kind) => {
    const root = project()
    const { files, note } = addTrigger(root, 'new-orders', kind)
    const stanza = STANZAS[kind]
    expect(files).toEqual(['src/triggers/new-orders.ts', ...(stanza === undefined ? [] : ['wrangler.toml'])])
    expect(readFileSync(join(root, 'wrangler.toml'), 'utf8')).toContain(stanza ?? '')
    expect(note).toContain('triggers({ newOrders })')
    const source = readFileSync(join(root, 'src/triggers/new-orders.ts'), 'utf8')
    expect(source).toContain(`export const newOrders = ${kind}Trigger({`)
    expect(transformSync(source, { loader: 'ts' }).warnings).toEqual([])
    expect(() => addTrigger(root, 'new-orders', kind)).toThrow('There is already src/triggers/new-orders.ts.')
    expect(() => addTrigger(root, 'other', 'mail')).toThrow('"mail" starts no runs.')
  },
)

test('init --single makes one Worker, which exports its tool and each new one', () => {
  const root = emptyFolder()
  init({ root, folder: 'one', edgecall: undefined, single: true })
  const folder = join(root, 'one')
  const { edge, tools } = findWorkers(folder)
  expect({ services: [...edge.services], tools }).toEqual({ services: [], tools: [] })
  expect(addWorker(folder, 'tool', 'roll-dice')).toEqual({
    files: ['tools/roll-dice/index.ts', 'tools/roll-dice/roll-dice.test.ts', 'tools/roll-dice/wrangler.toml'],
    exported: { name: 'TOOL_ROLL_DICE', module: 'src/index.ts' },
  })
  expect(exportedTools(folder, edge.main)).toEqual([
    { name: 'TOOL_GREETING', module: 'tools/greeting/index.ts' },
    { name: 'TOOL_ROLL_DICE', module: 'tools/roll-dice/index.ts' },
  ])
  expect(findWorkers(folder).tools).toEqual([])
  expect(() => addWorker(folder, 'tool', 'roll-dice')).toThrow('There is already tools/roll-dice.')
})
