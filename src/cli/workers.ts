import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { isObject } from '../contract/json.ts'
import { Failure } from './failure.ts'

/** A Worker of the repository, as its wrangler.toml describes it. */
export interface Worker {
  readonly name: string
  /** The path of its configuration, relative to the repository's root. */
  readonly config: string
  readonly vars: Readonly<Record<string, unknown>>
  /** The names of the Workers that it is bound to, by service binding. */
  readonly services: ReadonlyMap<string, string>
  /** The entries of `services` whose binding begins with `TOOL_`. */
  readonly tools: ReadonlyMap<string, string>
}

export interface Workers {
  readonly edge: Worker
  /** The Workers in `tools/`, in the order of their folders. */
  readonly tools: readonly Worker[]
}

/** The Worker of the offline model. It is no tool Worker: `npm start` alone runs it, and it is never deployed. */
const OFFLINE = join('tools', 'offline', 'wrangler.toml')

/**
 * Finds the edge and every Worker in `tools/` under `root`, except the offline model. Throws a Failure for a file that
 * cannot be read.
 */
export function findWorkers(root: string): Workers {
  if (!existsSync(join(root, 'wrangler.toml'))) {
    throw new Failure(`There is no wrangler.toml in ${root}.`, "Run this in the repository's folder.")
  }
  const found = globSync('tools/*/wrangler.toml', { cwd: root }).sort()
  const configs = found.filter((config) => config !== OFFLINE)
  return { edge: readWorker(root, 'wrangler.toml'), tools: configs.map((config) => readWorker(root, config)) }
}

function readWorker(root: string, config: string): Worker {
  const { name, vars, services } = readToml(root, config)
  if (typeof name !== 'string') throw new Failure(`${config} has no \`name\`.`)
  const bound = bindings(services)
  const tools = new Map([...bound].filter(([binding]) => binding.startsWith('TOOL_')))
  return { name, config, vars: isObject(vars) ? vars : {}, services: bound, tools }
}

function readToml(root: string, config: string): Record<string, unknown> {
  try {
    return parse(readFileSync(join(root, config), 'utf8'))
  } catch (error) {
    throw new Failure(`${config} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
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
  const bound = new Set([edge, ...tools].flatMap(({ services }) => [...services.values()]))
  return names.filter((name) => !bound.has(name))
}

function bindings(services: unknown): Map<string, string> {
  const found = new Map<string, string>()
  for (const stanza of Array.isArray(services) ? services : []) {
    if (!isObject(stanza)) continue
    const { binding, service } = stanza
    if (typeof binding === 'string' && typeof service === 'string') found.set(binding, service)
  }
  return found
}
