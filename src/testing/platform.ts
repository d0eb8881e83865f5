import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestHarness, TestHarnessOptions } from 'wrangler'
import { isObject, parseJson } from '../contract/json.ts'
import { FIGURES, type PlatformFigures, type WorkersPlan } from '../contract/platform.ts'
import type { InvocationCpu, PassedLimit, PlanTerms } from '../platform/invocation.ts'

type Config = Readonly<Record<string, unknown>>

const HERE = fileURLToPath(import.meta.url)
/** The module that holds a Worker to limits: of the package, or of the sources, as this one is. */
const HOLD = join(dirname(HERE), `../platform/hold${extname(HERE)}`)
/** The date from which every Worker has `AsyncLocalStorage`, by which the stand-in knows who does what. */
const CONTEXT_DATE = '2026-08-04'
const CONTEXT_FLAGS = ['nodejs_als', 'nodejs_compat', 'nodejs_compat_v2']

export interface HoldOptions extends Omit<PlanTerms, 'worker' | 'figures'> {
  /** The folder of the configuration, to which its paths are relative. */
  readonly folder: string
  /** The folder in which the module is written that holds the Worker. */
  readonly moduleFolder: string
  /** The entrypoints of the Worker that others name. */
  readonly entrypoints?: readonly string[]
  /** What is allowed otherwise than by the plan. */
  readonly figures?: Partial<PlatformFigures>
}

/** Returns a configuration whose Worker is held to the limits of a plan; as it is if it has no module of JavaScript. */
export function heldConfig(config: Config, options: HoldOptions): Config {
  const { main, name, compatibility_date: date, compatibility_flags: flags = [] } = config
  const { plan, figures, folder, moduleFolder, entrypoints = [], logsCpu } = options
  if (typeof main !== 'string' || !/\.[cm]?[jt]sx?$/.test(main)) return config
  const path = resolve(folder, main)
  const terms: PlanTerms = { plan, figures: { ...FIGURES[plan], ...figures }, worker: String(name), logsCpu }
  const names = new Set([...classesOf(config), ...entrypoints, ...exportedNames(path)])
  const module = join(moduleFolder, `${basename(String(name))}.js`)
  writeFileSync(module, moduleText(path, { names: [...names], terms }))
  const ownFlags = Array.isArray(flags) ? flags.map(String) : []
  const hasContext =
    (typeof date === 'string' && date >= CONTEXT_DATE) || ownFlags.some((each) => CONTEXT_FLAGS.includes(each))
  return { ...config, main: module, ...(!hasContext && { compatibility_flags: [...ownFlags, 'nodejs_als'] }) }
}

function moduleText(
  main: string,
  { names, terms }: { readonly names: readonly string[]; readonly terms: PlanTerms },
): string {
  const lines = names.map((name) => `export const ${name} = exported.${name}\n`)
  return `import * as worker from ${JSON.stringify(main)}
import { hold } from ${JSON.stringify(HOLD)}
export * from ${JSON.stringify(main)}
const exported = hold(worker, ${JSON.stringify(terms)})
export default exported.default
${lines.join('')}`
}

/** Returns the classes of a Worker that its configuration names. */
function classesOf({ durable_objects: objects, migrations, exports, workflows }: Config): readonly string[] {
  const bindings = [listOf(isObject(objects) ? objects['bindings'] : []), listOf(workflows)].flat()
  const ofBindings = bindings.flatMap((each) => (each['script_name'] === undefined ? [each['class_name']] : []))
  const ofMigrations = listOf(migrations).flatMap((each) => [each['new_sqlite_classes'], each['new_classes']].flat())
  return [...ofBindings, ...ofMigrations, ...Object.keys(isObject(exports) ? exports : {})].filter(isClassName)
}

/** Returns the names of classes that a module exports, as far as its text tells. */
function exportedNames(path: string): readonly string[] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const single = [...text.matchAll(/^export (?:class|const|let) (\w+)/gm)].map(([, name]) => name)
  const lists = [...text.matchAll(/^export (?:const )?\{([^}]*)\}/gm)].flatMap(([, names = '']) => names.split(','))
  // `{ a as B }`, and `{ a: B }` of what is taken apart.
  const inLists = lists.map((each) => /(\w+)\s*$/.exec(each)?.[1])
  return [...single, ...inLists].filter(isClassName)
}

function isClassName(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Z]\w*$/.test(name)
}

function listOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((each) => isObject(each)) : []
}

/** Returns the entrypoints that configurations name, by the Worker that they belong to. */
export function entrypointsOf(configs: readonly Config[]): ReadonlyMap<string, readonly string[]> {
  const bindings = configs.flatMap(({ services }) => listOf(services))
  const byService = Map.groupBy(bindings, ({ service }) => String(service))
  return new Map(
    Array.from(byService, ([service, all]) => [service, all.map(({ entrypoint }) => entrypoint).filter(isClassName)]),
  )
}

export interface PlatformOptions {
  /** The plan of the account: `free` or `paid`. */
  readonly plan: WorkersPlan
}

type HarnessWorkers = NonNullable<TestHarnessOptions['workers']>

/** A stand-in for Cloudflare's platform, which holds the Workers of a test harness to the limits of a plan. */
export interface HeldPlatform {
  /**
   * Returns the Workers for `createTestHarness`, each of which is held to the limits. Those without a `configPath` stay as
   * they are. `root`: the folder to which the paths are relative. Default: the current one.
   */
  workers(workers: HarnessWorkers, root?: string): Promise<HarnessWorkers>
  /** Returns the limits that were passed so far, in order, each once for an invocation. */
  passedLimits(server: Pick<TestHarness, 'getLogs'>): readonly PassedLimit[]
  /** Removes the files of the stand-in. */
  close(): void
}

/**
 * Makes a stand-in for Cloudflare's platform, since workerd on one's own machine enforces few of its limits. docs/limits.md
 * lists them, with what happens at each. What is thrown is what Cloudflare throws.
 *
 * @example
 * const cloudflare = platform({ plan: 'paid' })
 * // For `createTestHarness({ workers })` of wrangler; then `cloudflare.passedLimits(server)`.
 * const workers = await cloudflare.workers([{ configPath: 'wrangler.toml' }])
 */
export function platform(options: PlatformOptions): HeldPlatform {
  return platformWith(options)
}

/** Reads a configuration as its file has it. */
type ReadConfig = (path: string) => unknown

/** A platform that allows otherwise than its plan, or logs the CPU of each invocation. */
export interface OwnPlatform extends HeldPlatform {
  /** Does what `workers` does, at once. */
  hold(workers: HarnessWorkers, read: ReadConfig, root?: string): HarnessWorkers
  cpuOf(server: Pick<TestHarness, 'getLogs'>): readonly InvocationCpu[]
}

let configCount = 0

export function platformWith(options: PlatformOptions & Pick<HoldOptions, 'figures' | 'logsCpu'>): OwnPlatform {
  const moduleFolder = mkdtempSync(join(tmpdir(), 'edgecall-platform-'))
  const paths: string[] = []
  const hold: OwnPlatform['hold'] = (workers, read, root = process.cwd()) => {
    const originals = workers.map((worker) => {
      if (!('configPath' in worker) || typeof worker.configPath !== 'string') return undefined
      const path = resolve(root, worker.configPath)
      const config = read(path)
      return { path, config: isObject(config) ? config : {} }
    })
    const entrypoints = entrypointsOf(originals.flatMap((each) => (each ? [each.config] : [])))
    return workers.map((worker, at) => {
      const { path, config } = originals[at] ?? {}
      if (path === undefined || config === undefined) return worker
      const folder = dirname(path)
      const ofOthers = entrypoints.get(String(config['name'])) ?? []
      // Beside the original, since its other paths are relative.
      const configPath = join(folder, `.edgecall-dev-${process.pid}-${configCount++}.json`)
      const own = heldConfig(config, { ...options, folder, moduleFolder, entrypoints: ofOthers })
      writeFileSync(configPath, JSON.stringify(own))
      paths.push(configPath)
      return { ...worker, configPath }
    })
  }
  return {
    hold,
    workers: async (workers, root) => {
      const { experimental_readRawConfig: readRawConfig } = await import('wrangler')
      return hold(workers, (path) => readRawConfig({ config: path }).rawConfig, root)
    },
    passedLimits: (server) => linesOf(server, isPassedLimit),
    cpuOf: (server) => linesOf(server, isInvocationCpu),
    close: () => {
      for (const path of [moduleFolder, ...paths]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Returns the lines of a log that are of a kind. */
function linesOf<Line>(
  server: Pick<TestHarness, 'getLogs'>,
  isLine: (value: unknown) => value is Line,
): readonly Line[] {
  return server.getLogs().flatMap(({ message }) => {
    const line = parseJson(message)
    return isLine(line) ? [line] : []
  })
}

function isPassedLimit(value: unknown): value is PassedLimit {
  return isObject(value) && value['event'] === 'platform.limit'
}

function isInvocationCpu(value: unknown): value is InvocationCpu {
  return isObject(value) && value['event'] === 'platform.cpu'
}
