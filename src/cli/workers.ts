import { shellCommand } from './command/shell.ts'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../contract/json.ts'
import { Failure } from './failure.ts'
import { exportedTools } from './project/exported-tools.ts'
import { findConfig, readConfigFile } from './project/config-file.ts'

/** A Worker of the repository, as its wrangler.toml or wrangler.jsonc describes it. */
export interface Worker {
  readonly name: string
  /** The path of its configuration, relative to the repository's root. */
  readonly config: string
  /** The path of its main module, relative to the root; '' if it has none. */
  readonly main: string
  readonly vars: Readonly<Record<string, unknown>>
  /** The names of the Workers that it is bound to, by service binding. */
  readonly services: ReadonlyMap<string, string>
  /** The entries of `services` whose binding begins with `TOOL_`. */
  readonly tools: ReadonlyMap<string, string>
}

export interface Workers {
  /** The folder of the edge. */
  readonly root: string
  readonly edge: Worker
  /** The Workers in `tools/`, in the order of their folders. */
  readonly tools: readonly Worker[]
}

/** The folder of the offline model. It is not a tool Worker: `npm start` alone runs it, and it is never deployed. */
const OFFLINE = join('tools', 'offline')

/**
 * Finds the edge and every Worker in `tools/` under `root`, except the offline model and those in the edge's own
 * module. Throws a Failure for a file that cannot be read.
 */
export function findWorkers(root: string): Workers {
  const config = findConfig(root, '')
  if (config === undefined) {
    throw new Failure(
      `There is no wrangler.toml in ${root}.`,
      `Run this in the folder of your edge, or make one: ${shellCommand('init <folder>')}`,
    )
  }
  const folders = globSync('tools/*', { cwd: root }).sort()
  const configs = folders.flatMap((folder) => (folder === OFFLINE ? [] : (findConfig(root, folder) ?? [])))
  const edge = readWorker(root, config)
  // What the edge exports runs in the edge. Its configuration is for its tests.
  const exported = new Set(exportedTools(root, edge.main).map(({ module }) => module))
  const tools = configs.map((each) => readWorker(root, each)).filter(({ main }) => !exported.has(main))
  return { root, edge, tools }
}

function readWorker(root: string, config: string): Worker {
  const { name, main, vars, services } = readConfigFile(root, config)
  if (typeof name !== 'string') throw new Failure(`${config} has no \`name\`.`)
  const serviceBindings = bindings(services)
  const tools = new Map([...serviceBindings].filter(([binding]) => binding.startsWith('TOOL_')))
  const module = typeof main === 'string' ? join(dirname(config), main) : ''
  return { name, config, main: module, vars: isObject(vars) ? vars : {}, services: serviceBindings, tools }
}

/**
 * Returns the names of the tool Workers that no Worker is bound to. Throws a Failure if the edge is bound to a tool
 * Worker that is not in the repository, because only those of the repository run on this machine.
 */
export function unbound({ edge, tools }: Workers): readonly string[] {
  const names = tools.map(({ name }) => name)
  for (const [binding, service] of edge.tools) {
    if (names.includes(service)) continue
    const hint = `Those in tools/ are ${names.join(', ')}.`
    throw new Failure(`${edge.config} binds ${binding} to "${service}", and no Worker has that name.`, hint)
  }
  const boundServices = new Set([edge, ...tools].flatMap(({ services }) => [...services.values()]))
  return names.filter((name) => !boundServices.has(name))
}

/**
 * Returns the service bindings of the edge to Workers in `tools/` whose names do not begin with `TOOL_`, so that their
 * tools are not found; `DEFINITIONS` does not belong to a tool Worker.
 */
export function looseBindings({ edge, tools }: Workers): readonly (readonly [binding: string, service: string])[] {
  const names = new Set(tools.map(({ name }) => name))
  return [...edge.services].filter(
    ([binding, service]) => binding !== 'DEFINITIONS' && !edge.tools.has(binding) && names.has(service),
  )
}

function bindings(services: unknown): Map<string, string> {
  const serviceByBinding = new Map<string, string>()
  for (const stanza of Array.isArray(services) ? services : []) {
    if (!isObject(stanza)) continue
    const { binding, service } = stanza
    if (typeof binding === 'string' && typeof service === 'string') serviceByBinding.set(binding, service)
  }
  return serviceByBinding
}
