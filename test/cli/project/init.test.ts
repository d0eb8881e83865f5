import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { addHttpTool, addWorker } from '../../../src/cli/project/add.ts'
import { exportedTools } from '../../../src/cli/project/exported-tools.ts'
import { init } from '../../../src/cli/project/init.ts'
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
  expect(addWorker(root, 'agent', 'proofreader').bound?.binding).toBe('TOOL_PROOFREADER')
  expect(readFileSync(join(root, 'tools/proofreader/index.ts'), 'utf8')).toContain('[proofreader])')
})

test('new http-tool adds a definition that an edge accepts', () => {
  const root = project()
  addHttpTool(root, 'exchange-rates')
  expect(definitionIssues(join(root, 'tools/definitions/exchange-rates.json'))).toEqual([])
})

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
