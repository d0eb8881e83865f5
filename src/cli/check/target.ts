import { globSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Unstable_Config as WranglerConfig } from 'wrangler'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { findConfig } from '../project/config-file.ts'
import { exportedTools } from '../project/exported-tools.ts'
import { importWrangler } from '../wrangler.ts'
import { type Environment, withOwnResources } from './environments.ts'
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
  /** The names and ids of resources that the environment may share with others. Default: none. */
  readonly allowShared?: readonly string[]
}

export interface Targets {
  /** Tool Workers before those that are bound to them, the edge last. */
  readonly targets: readonly Target[]
  /** The configurations of Workers that nothing is bound to: they are not deployed. */
  readonly unbound: readonly Target[]
  readonly problems: readonly CheckProblem[]
  /** The other environments of the project: production, and those for which a configuration has a section. */
  readonly others: readonly Environment[]
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
export async function readTargets(options: TargetOptions): Promise<Targets> {
  const { root, environment } = options
  const { sources, problems } = await readSources(root, environment)
  if (problems.length > 0) return { targets: [], unbound: [], problems, others: [] }

  const nameOf = namesIn(sources, options)
  problems.push(...sources.flatMap(nameProblems))
  const names = new Map(sources.map((source) => [baseOf(source), nameOf(source)]))
  const all = sources.map((source): Target => {
    const { config, role, section } = source
    const name = nameOf(source)
    const settings = renamed(settingsIn(source, options), { name, names, hasSection: section !== undefined })
    return { config, role, ...(section !== undefined && { section }), baseName: baseOf(source), name, settings }
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
  return {
    targets: targets.map((target) => (target === edge ? { ...edge, exports } : target)),
    unbound,
    problems,
    others: await readOthers(sources, options),
  }
}

/** Reads the Workers of all environments of the project but one, as they would be deployed. */
async function readOthers(own: readonly Source[], options: TargetOptions): Promise<readonly Environment[]> {
  const { root, environment, prefix } = options
  const defined = own.flatMap(({ settings }) => settings.definedEnvironments ?? [])
  const others = [...new Set(['production', ...defined])].filter((name) => name !== environment)
  return Promise.all(
    others.map(async (name) => {
      const { sources } = await readSources(root, name)
      const nameOf = namesIn(sources, { environment: name, prefix })
      const workers = sources.map((source) => ({
        config: source.config,
        name: nameOf(source),
        settings: settingsIn(source, { environment: name }),
      }))
      return { name, workers }
    }),
  )
}

async function readSources(root: string, environment: string) {
  const edgeConfig = edgeConfigOf(root)
  const tools = globSync('tools/*', { cwd: root })
    .sort()
    .flatMap((folder) => (folder === OFFLINE ? [] : (findConfig(root, folder) ?? [])))
  const problems: CheckProblem[] = []
  const sources: Source[] = []
  for (const config of [...tools, edgeConfig]) {
    const { source, problem } = await readSource({ root, config, environment })
    if (problem) problems.push(problem)
    if (source) sources.push({ ...source, config, role: config === edgeConfig ? 'edge' : 'tool' })
  }
  return { sources, problems }
}

/** Returns the name of a Worker in its configuration. */
function baseOf({ settings, section }: Source): string {
  return (section === undefined ? settings.name : settings.topLevelName) ?? ''
}

/** Returns what names the Workers of a project in an environment. */
function namesIn(sources: readonly Source[], { environment, prefix }: Pick<TargetOptions, 'environment' | 'prefix'>) {
  const edgeName = sources.find(({ role }) => role === 'edge')?.settings.name ?? ''
  return ({ settings, section }: Source): string => {
    const name = prefix === undefined ? (settings.name ?? '') : prefixed(settings.name ?? '', { edgeName, prefix })
    return section === undefined && environment !== 'production' ? `${name}-${environment}` : name
  }
}

/** Returns the settings of a Worker in an environment. Those that production has are for production alone. */
function settingsIn(
  { settings, section }: Source,
  { environment, allowShared = [] }: Pick<TargetOptions, 'environment' | 'allowShared'>,
): WranglerConfig {
  if (section !== undefined || environment === 'production') return settings
  return withOwnResources(settings, { environment, allowed: allowShared })
}

/** Returns the path of the edge's configuration. Throws a Failure if there is none. */
export function edgeConfigOf(root: string): string {
  const config = findConfig(root, '')
  if (config !== undefined) return config
  throw new Failure(`There is no wrangler.toml in ${root}.`, 'Run this in the folder of your edge.')
}

/** Reads one configuration. A section that leaves out what it needs is returned with the problem. */
async function readSource({
  root,
  config,
  environment,
}: {
  readonly root: string
  readonly config: string
  readonly environment: string
}): Promise<{ readonly source?: Pick<Source, 'settings' | 'section'>; readonly problem?: CheckProblem }> {
  const { unstable_readConfig: readConfig } = await importWrangler()
  try {
    const path = join(root, config)
    const top = readConfig({ config: path }, { hideWarnings: true })
    if (!top.definedEnvironments?.includes(environment)) return { source: { settings: top } }
    const settings = readConfig({ config: path, env: environment }, { hideWarnings: true })
    const source = { settings, section: environment }
    const missingKeys = bindingKeys(top).filter((key) => !bindingKeys(settings).includes(key))
    if (missingKeys.length === 0) return { source }
    const problem = {
      file: config,
      message: `[env.${environment}] leaves out ${missingKeys.join(', ')}, which wrangler does not inherit.`,
      remedy: `Repeat them in that section.`,
    }
    return { source, problem }
  } catch (error) {
    const { message, location } = isObject(error) ? error : {}
    const line = isObject(location) && typeof location['line'] === 'number' ? location['line'] : undefined
    const text = String(message ?? error)
      .replace(/\s+/g, ' ')
      .trim()
    const problem = { file: config, message: `${text}.`, remedy: 'Correct the file.' }
    return { problem: line === undefined ? problem : { ...problem, line } }
  }
}

/** Returns the settings that bind something, whose code would miss it without them. Wrangler inherits none of them. */
function bindingKeys(settings: WranglerConfig): readonly string[] {
  return Object.entries(settings).flatMap(([key, value]: [string, unknown]) => {
    const { bindings = [], producers = [] } = isObject(value) ? value : {}
    const entries = [value, bindings, producers].flat()
    return entries.some((each) => isObject(each) && ('binding' in each || 'class_name' in each)) ? [key] : []
  })
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
