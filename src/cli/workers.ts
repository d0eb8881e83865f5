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
  /** Names of the Workers behind its `TOOL_*` service bindings, by binding. */
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
  return { name, config, vars: isObject(vars) ? vars : {}, tools: toolBindings(services) }
}

function readToml(root: string, config: string): Record<string, unknown> {
  try {
    return parse(readFileSync(join(root, config), 'utf8'))
  } catch (error) {
    throw new Failure(`${config} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function toolBindings(services: unknown): Map<string, string> {
  const bindings = new Map<string, string>()
  for (const stanza of Array.isArray(services) ? services : []) {
    if (!isObject(stanza)) continue
    const { binding, service } = stanza
    if (typeof binding === 'string' && binding.startsWith('TOOL_') && typeof service === 'string') {
      bindings.set(binding, service)
    }
  }
  return bindings
}
