import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isObject } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { MissingTool } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Bundle } from '../deploy/bundle.ts'
import { importWrangler } from '../wrangler.ts'
import type { CheckProblem } from './problem.ts'
import type { Target } from './target.ts'

/** The tools of each Worker that describes itself, by the Worker's name. */
export type Descriptions = ReadonlyMap<string, readonly ToolDefinition[]>

/** The tools that Workers cannot offer, by the Worker's name, and the source that such a Worker says it is, such as `mcp`. */
export type MissingTools = ReadonlyMap<string, readonly (MissingTool & { readonly source?: string })[]>

/** Asks the Workers that it is bound to for their descriptions, as an edge does: over RPC, else over `fetch`. */
const PROBE = `
async function describe(worker) {
  try {
    return await worker.describe()
  } catch (error) {
    const response = await worker.fetch('https://tool/describe')
    if (!response.ok) throw error
    return await response.json()
  }
}
export default {
  async fetch(_, env) {
    const answers = {}
    for (const [name, worker] of Object.entries(env)) {
      try {
        answers[name] = await describe(worker)
      } catch (error) {
        answers[name] = { error: String(error?.message ?? error) }
      }
    }
    return Response.json(answers)
  },
}
`

/** The settings that a Worker starts with here. Bindings that only the account has are left out. */
const LOCAL = [
  'name',
  'compatibility_date',
  'compatibility_flags',
  'vars',
  'durable_objects',
  'migrations',
  'kv_namespaces',
  'd1_databases',
  'r2_buckets',
  'ratelimits',
  'worker_loaders',
  'no_bundle',
  'find_additional_modules',
  'rules',
]

export type StartResult =
  | { readonly ok: true; readonly descriptions: Descriptions; readonly missing: MissingTools }
  | { readonly ok: false; readonly problems: readonly CheckProblem[] }

/**
 * Starts built Workers in workerd and asks tool Workers for their descriptions. Finds what a build does not: a module
 * that throws as it is loaded. A Worker that does not describe itself has no tools.
 */
export async function startBundles(bundles: readonly Bundle[]): Promise<StartResult> {
  const targets = bundles.map(({ target }) => target)
  const workers = bundles.map(({ config, folder }) => {
    const settings: unknown = JSON.parse(readFileSync(config, 'utf8'))
    if (!isObject(settings)) throw new TypeError(`${config} is not a JSON object`)
    return { ...localSettings(settings, targets), main: join(folder, String(settings['main'])), base_dir: folder }
  })
  return startWorkers(targets, workers)
}

/**
 * As `startBundles`, of Workers as their sources are, which one process builds: several times faster than bundles. If one
 * does not build, none starts.
 */
export async function startSources(root: string, targets: readonly Target[]): Promise<StartResult> {
  const workers = targets.map(({ config, settings }) => {
    const folder = join(root, dirname(config))
    return { ...localSettings({ ...settings }, targets), main: settings.main, base_dir: folder }
  })
  return startWorkers(targets, workers)
}

async function startWorkers(targets: readonly Target[], workers: readonly object[]): Promise<StartResult> {
  if (targets.length === 0) return { ok: true, descriptions: new Map(), missing: new Map() }
  const { createTestHarness } = await importWrangler()
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-check-'))
  // Otherwise miniflare asks for the location of this machine over the network.
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  process.env['WRANGLER_SEND_METRICS'] ??= 'false'
  writeFileSync(join(folder, 'probe.js'), PROBE)
  const entrypoints = targets.flatMap(({ name, role, exports = [] }) =>
    role === 'tool' ? [{ service: name }] : exports.map((entrypoint) => ({ service: name, entrypoint })),
  )
  const services = entrypoints.map((entrypoint, index) => ({ binding: `WORKER_${index}`, ...entrypoint }))
  const probe = {
    name: 'edgecall-probe',
    main: join(folder, 'probe.js'),
    compatibility_date: '2026-10-23',
    no_bundle: true,
    services,
  }
  const configs = [probe, ...workers].map((config) => ({ config }))
  const harness = createTestHarness({ root: folder, workers: configs })
  try {
    await harness.listen()
    const response = await harness.fetch('/')
    const answers: unknown = await response.json()
    const descriptions = new Map<string, readonly ToolDefinition[]>()
    const missing = new Map<string, readonly (MissingTool & { readonly source?: string })[]>()
    for (const { binding, service } of services) {
      const answer = isObject(answers) ? answers[binding] : undefined
      const tools: readonly ToolDefinition[] = isObject(answer) && Array.isArray(answer['tools']) ? answer['tools'] : []
      descriptions.set(service, [...(descriptions.get(service) ?? []), ...tools])
      const { unavailable, source } = isObject(answer) ? answer : {}
      if (Array.isArray(unavailable))
        missing.set(
          service,
          unavailable.map((tool) => ({ ...tool, source })),
        )
    }
    return { ok: true, descriptions, missing }
  } catch (error) {
    return { ok: false, problems: startProblems(messageOf(error), targets) }
  } finally {
    await harness.close().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the settings that a Worker starts with here; its services are those of these Workers. */
function localSettings(settings: Readonly<Record<string, unknown>>, targets: readonly Target[]): object {
  const here = Object.fromEntries(Object.entries(settings).filter(([key]) => LOCAL.includes(key)))
  const services = Array.isArray(settings['services']) ? settings['services'] : []
  return { ...here, services: services.filter((each) => targets.some(({ name }) => name === each?.service)) }
}

/** A line of workerd about a Worker that does not start, such as `service core:user:acme-clock: Uncaught Error: …`. */
const START_ERROR = /service core:user:([\w-]+): ([^\n\\"]+)/g

function startProblems(message: string, targets: readonly Target[]): CheckProblem[] {
  const startErrors = [...message.matchAll(START_ERROR)].map(([, name, reason]) => {
    const config = targets.find((target) => target.name === name)?.config ?? ''
    return { file: config, message: `${name} does not start: ${reason}.`, remedy: START_REMEDY }
  })
  if (startErrors.length > 0) return startErrors
  return [{ file: 'wrangler.toml', message: `The Workers do not start: ${message}`, remedy: '' }]
}

const START_REMEDY = 'Code at the top of a module runs as the Worker starts, before any request.'
