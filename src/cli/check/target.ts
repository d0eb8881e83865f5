import { globSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Unstable_Config as WranglerConfig } from 'wrangler'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { findConfig } from '../project/config-file.ts'
import { exportedTools } from '../project/exported-tools.ts'
import { importWrangler } from '../wrangler.ts'
import type { CheckProblem } from './problem.ts'

/** A Worker of the project as it is deployed to one environment. */
export interface Target {
  /** Its name in the account, such as `acme-clock-staging`. */
  readonly name: string
  /** Its name in the configuration, such as `acme-clock`. */
  readonly baseName: string
  readonly role: 'tool' | 'edge'
  /** The path of its configuration, relative to the project's folder. */
  readonly config: string
  /** The section `[env.<section>]` that applies, if the configuration has it. */
  readonly section?: string
  /** The configuration as wrangler reads it, with the names of this environment in its bindings. */
  readonly settings: WranglerConfig
  /** The names under which an edge exports tool Workers from its own module. Default: none. */
  readonly exports?: readonly string[]
}

export interface TargetOptions {
  readonly root: string
  /** Names end in it, such as `-staging`, where the configuration has no section for it. `production` adds nothing. */
  readonly environment: string
  /** Replaces the name of the edge at the beginning of all names. Default: the names of the configurations. */
  readonly prefix?: string | undefined
}

export interface Targets {
  /** Tool Workers before those that are bound to them, the edge last. */
  readonly targets: readonly Target[]
  /** The configurations of Workers that nothing is bound to: they are not deployed. */
  readonly unbound: readonly Target[]
  readonly problems: readonly CheckProblem[]
}

/** The folder of the offline model, which is never deployed. */
const OFFLINE = join('tools', 'offline')

interface Source {
  readonly config: string
  readonly role: Target['role']
  readonly settings: WranglerConfig
  readonly section?: string
}

/**
 * Reads all Workers of a project with the names that they have in one environment, and what is wrong with them as far
 * as their configurations tell. Throws a Failure if there is no edge.
 */
export async function readTargets({ root, environment, prefix }: TargetOptions): Promise<Targets> {
  const edgeConfig = edgeConfigOf(root)
  const tools = globSync('tools/*', { cwd: root })
    .sort()
    .flatMap((folder) => (folder === OFFLINE ? [] : (findConfig(root, folder) ?? [])))
  const problems: CheckProblem[] = []
  const sources: Source[] = []
  for (const config of [...tools, edgeConfig]) {
    const role = config === edgeConfig ? 'edge' : 'tool'
    const read = await readSource({ root, config, environment })
    if ('message' in read) problems.push(read)
    else sources.push({ ...read, config, role })
  }
  if (problems.length > 0) return { targets: [], unbound: [], problems }

  const edgeName = sources.at(-1)?.settings.name ?? ''
  const baseOf = ({ settings, section }: Source) =>
    (section === undefined ? settings.name : settings.topLevelName) ?? ''
  const nameOf = (source: Source) => {
    const { settings, section } = source
    const name = prefix === undefined ? (settings.name ?? '') : prefixed(settings.name ?? '', { edgeName, prefix })
    return section === undefined && environment !== 'production' ? `${name}-${environment}` : name
  }
  problems.push(...sources.flatMap(nameProblems))
  const names = new Map(sources.map((source) => [baseOf(source), nameOf(source)]))
  const all = sources.map((source): Target => {
    const { settings, section, ...rest } = source
    const checked = {
      ...rest,
      ...(section !== undefined && { section }),
      baseName: baseOf(source),
      name: nameOf(source),
    }
    return {
      ...checked,
      settings: renamed(settings, { name: nameOf(source), names, hasSection: section !== undefined }),
    }
  })
  problems.push(...sameNames(all), ...all.flatMap((target) => serviceProblems(target, { names, all })))
  const edge = all.find(({ role }) => role === 'edge')
  const targets = edge ? inOrder(edge, all) : []
  // What the edge exports runs in the edge: its configuration is for its tests.
  const main = edge?.settings.main === undefined ? '' : relative(root, resolve(root, edge.settings.main))
  const exported = exportedTools(root, main)
  const folders = new Set(exported.map(({ module }) => dirname(module)))
  const unbound = all.filter((target) => !targets.includes(target) && !folders.has(dirname(target.config)))
  const exports = exported.map(({ name }) => name)
  return { targets: targets.map((target) => (target === edge ? { ...edge, exports } : target)), unbound, problems }
}

/** Returns the path of the edge's configuration. Throws a Failure if there is none. */
export function edgeConfigOf(root: string): string {
  const config = findConfig(root, '')
  if (config !== undefined) return config
  throw new Failure(`There is no wrangler.toml in ${root}.`, 'Run this in the folder of your edge.')
}

async function readSource({
  root,
  config,
  environment,
}: {
  readonly root: string
  readonly config: string
  readonly environment: string
}): Promise<CheckProblem | Omit<Source, 'config' | 'role'>> {
  const { unstable_readConfig: readConfig } = await importWrangler()
  try {
    const path = join(root, config)
    const top = readConfig({ config: path }, { hideWarnings: true })
    if (!top.definedEnvironments?.includes(environment)) return { settings: top }
    const settings = readConfig({ config: path, env: environment }, { hideWarnings: true })
    const missingKeys = NOT_INHERITED.filter((key) => countOf(top, key) > 0 && countOf(settings, key) === 0)
    if (missingKeys.length === 0) return { settings, section: environment }
    return {
      file: config,
      message: `[env.${environment}] leaves out ${missingKeys.join(', ')}, which wrangler does not inherit.`,
      remedy: `Repeat them in that section.`,
    }
  } catch (error) {
    const { message, location } = isObject(error) ? error : {}
    const line = isObject(location) && typeof location['line'] === 'number' ? location['line'] : undefined
    const text = String(message ?? error)
      .replace(/\s+/g, ' ')
      .trim()
    return { file: config, ...(line !== undefined && { line }), message: `${text}.`, remedy: 'Correct the file.' }
  }
}

const NOT_INHERITED = ['services', 'durable_objects', 'kv_namespaces'] as const

function countOf(settings: WranglerConfig, key: (typeof NOT_INHERITED)[number]): number {
  return key === 'durable_objects' ? settings.durable_objects.bindings.length : (settings[key]?.length ?? 0)
}

function prefixed(name: string, { edgeName, prefix }: { edgeName: string; prefix: string }): string {
  if (name === edgeName) return prefix
  return name.startsWith(`${edgeName}-`) ? prefix + name.slice(edgeName.length) : `${prefix}-${name}`
}

/** Replaces the names of the project's Workers by those of the environment, unless a section of its own names them. */
function renamed(
  settings: WranglerConfig,
  { name, names, hasSection }: { name: string; names: ReadonlyMap<string, string>; hasSection: boolean },
): WranglerConfig {
  if (hasSection) return { ...settings, name }
  const services = settings.services?.map((each) => ({ ...each, service: names.get(each.service) ?? each.service }))
  const bindings = settings.durable_objects.bindings.map((each) =>
    each.script_name === undefined ? each : { ...each, script_name: names.get(each.script_name) ?? each.script_name },
  )
  return { ...settings, name, ...(services && { services }), durable_objects: { bindings } }
}

function nameProblems({ config, settings: { name } }: Source): CheckProblem[] {
  if (name !== undefined) return []
  return [{ file: config, message: 'There is no `name`.', remedy: 'Give the Worker one: name = "…".' }]
}

function sameNames(all: readonly Target[]): CheckProblem[] {
  return [...Map.groupBy(all, ({ name }) => name)].flatMap(([name, [first, ...others]]) =>
    others.map(({ config }) => ({
      file: config,
      message: `The Worker is named "${name}", as that of ${first?.config} is: one would replace the other.`,
      remedy: 'Give it another name.',
    })),
  )
}

function serviceProblems(
  { config, settings, section }: Target,
  { names, all }: { names: ReadonlyMap<string, string>; all: readonly Target[] },
): CheckProblem[] {
  return (settings.services ?? []).flatMap(({ binding, service }) => {
    if (all.some(({ name }) => name === service)) return []
    const own = names.get(service)
    if (own !== undefined && section !== undefined) {
      const message = `[env.${section}] binds ${binding} to "${service}", which is not of that environment.`
      return [{ file: config, message, remedy: `Bind it to "${own}".` }]
    }
    const message = `${binding} is bound to "${service}", and no Worker here has that name.`
    return [{ file: config, message, remedy: `Those here are ${[...names.keys()].join(', ')}.` }]
  })
}

/** Returns the Workers that the edge reaches by bindings, each after those that it is bound to; the edge is the last. */
function inOrder(edge: Target, all: readonly Target[]): readonly Target[] {
  const ordered: Target[] = []
  const visited = new Set<Target>()
  const visit = (target: Target) => {
    if (visited.has(target)) return
    visited.add(target)
    const { services = [], durable_objects: objects } = target.settings
    const needed = [...services.map(({ service }) => service), ...objects.bindings.map((each) => each.script_name)]
    for (const other of all) if (needed.includes(other.name)) visit(other)
    ordered.push(target)
  }
  visit(edge)
  return ordered
}
