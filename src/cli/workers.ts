import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { isObject } from '../contract/json.ts'
import { Failure } from './failure.ts'

/** A Worker of the repository, as its wrangler.toml describes it. */
export interface Worker {
  readonly name: string
  /** Path of its configuration, from the repository's root. */
  readonly config: string
  readonly vars: Readonly<Record<string, unknown>>
  /** Names of the Workers behind its service bindings, by binding. */
  readonly services: ReadonlyMap<string, string>
  /** Those of its bindings `TOOL_*`. */
  readonly tools: ReadonlyMap<string, string>
}

export interface Workers {
  readonly edge: Worker
  /** In the order of their folders. */
  readonly tools: readonly Worker[]
}

/** The edge's Worker and every tool Worker under `root`. Throws a Failure for a file that cannot be read. */
export function findWorkers(root: string): Workers {
  if (!existsSync(join(root, 'wrangler.toml'))) {
    throw new Failure(`There is no wrangler.toml in ${root}.`, "Run this in the repository's folder.")
  }
  const configs = globSync('tools/*/wrangler.toml', { cwd: root }).sort()
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
 * The names of the tool Workers that no Worker is bound to. Throws a Failure for a binding of the edge to a tool Worker
 * that is not in the repository: on this machine there is no other.
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
