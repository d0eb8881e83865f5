import type { Unstable_Config as WranglerConfig } from 'wrangler'
import { isObject } from '../../contract/json.ts'
import { quoteArgument } from '../command/shell.ts'
import type { CheckProblem } from './problem.ts'

/** A resource of the account that a configuration names, such as the queue `orders`. */
interface Resource {
  readonly noun: string
  /** Its name, its id, or both. */
  readonly names: readonly string[]
}

/** The Workers of a project in one environment, as far as they could be read. */
export interface Environment {
  readonly name: string
  readonly workers: readonly EnvironmentWorker[]
}

export interface EnvironmentWorker {
  /** The path of its configuration. */
  readonly config: string
  /** Its name in the account. */
  readonly name: string
  readonly settings: WranglerConfig
}

/** The members that name a resource in the entries of a setting, each by itself; the first is the one to print. */
const LISTS: Readonly<Record<string, { readonly noun: string; readonly members: readonly string[] }>> = {
  agent_memory: { noun: 'agent memory', members: ['namespace'] },
  ai_search: { noun: 'AI Search instance', members: ['instance_name'] },
  ai_search_namespaces: { noun: 'AI Search namespace', members: ['namespace'] },
  artifacts: { noun: 'artifacts namespace', members: ['namespace'] },
  d1_databases: { noun: 'D1 database', members: ['database_name', 'database_id'] },
  dispatch_namespaces: { noun: 'dispatch namespace', members: ['namespace'] },
  flagship: { noun: 'Flagship app', members: ['app_id'] },
  hyperdrive: { noun: 'Hyperdrive configuration', members: ['id'] },
  k2: { noun: 'stream', members: ['stream'] },
  kv_namespaces: { noun: 'KV namespace', members: ['id'] },
  mtls_certificates: { noun: 'client certificate', members: ['certificate_id'] },
  pipelines: { noun: 'pipeline', members: ['pipeline', 'stream'] },
  r2_buckets: { noun: 'R2 bucket', members: ['bucket_name'] },
  ratelimits: { noun: 'rate limit', members: ['namespace_id'] },
  vectorize: { noun: 'Vectorize index', members: ['index_name'] },
  vpc_networks: { noun: 'VPC network', members: ['tunnel_id', 'network_id'] },
  vpc_services: { noun: 'VPC service', members: ['service_id'] },
  workflows: { noun: 'workflow', members: ['name'] },
}

/** Returns the resources of the account that a configuration names. */
function resourcesOf({ settings, name }: EnvironmentWorker): readonly Resource[] {
  const listResources = Object.entries(LISTS).flatMap(([key, { noun, members }]) =>
    entriesOf(settings, key).map((entry) => ({
      noun,
      names: members.map((member) => entry[member]).filter((each) => typeof each === 'string'),
    })),
  )
  const { queues, routes = [], route, triggers, durable_objects: objects } = settings
  const all = (noun: string, names: readonly (string | undefined)[]) =>
    names.flatMap((each) => (each === undefined ? [] : { noun, names: [each] }))
  return [
    ...all('Worker', [name]),
    ...listResources,
    ...all(
      'queue',
      [...(queues.producers ?? []), ...(queues.consumers ?? [])].map((each) => each.queue),
    ),
    ...all(
      'route',
      [...routes, route].map((each) => (typeof each === 'object' ? each.pattern : each)),
    ),
    ...all('cron trigger', triggers.crons ?? []),
    ...all(
      'dataset',
      settings.analytics_engine_datasets.map(({ binding, dataset = binding }) => dataset),
    ),
    ...all(
      'secret',
      settings.secrets_store_secrets.map((each) => `${each.store_id}/${each.secret_name}`),
    ),
    ...all(
      'permission to send mail',
      settings.send_email.map((each) => each.name),
    ),
    ...all('Durable Object', objects.bindings.map(objectOf)),
  ]
}

/** Returns the object of another Worker that a binding names. */
function objectOf({ script_name: script, class_name: object }: WranglerConfig['durable_objects']['bindings'][number]) {
  return script === undefined ? undefined : `${script}/${object}`
}

function entriesOf(settings: WranglerConfig, key: string): readonly Readonly<Record<string, unknown>>[] {
  const value: unknown = Object.entries(settings).find(([name]) => name === key)?.[1]
  return Array.isArray(value) ? value.filter(isObject) : []
}

/**
 * Gives a Worker resources of its own in an environment for which its configuration has no section: what wrangler makes
 * by itself (KV namespaces, databases, buckets, queues, workflows) is named like the Worker, with the environment at the
 * end. `allowed` are the names and ids that it keeps.
 */
export function withOwnResources(
  settings: WranglerConfig,
  { environment, allowed }: { readonly environment: string; readonly allowed: readonly string[] },
): WranglerConfig {
  const own = (name: string) => (allowed.includes(name) ? name : `${name}-${environment}`)
  const isKept = (id: string | undefined, name?: string) =>
    (id !== undefined && allowed.includes(id)) || (name !== undefined && allowed.includes(name))
  const { producers = [], consumers = [] } = settings.queues
  return {
    ...settings,
    kv_namespaces: settings.kv_namespaces.map(({ id, ...rest }) => (isKept(id) ? { id, ...rest } : rest)),
    d1_databases: settings.d1_databases.map((each) => {
      const { database_id: id, database_name: name, ...rest } = each
      if (isKept(id, name)) return each
      return { ...rest, ...(name !== undefined && { database_name: own(name) }) }
    }),
    r2_buckets: settings.r2_buckets.map((each) =>
      typeof each.bucket_name === 'string' ? { ...each, bucket_name: own(each.bucket_name) } : each,
    ),
    workflows: settings.workflows.map((each) => ({ ...each, name: own(each.name) })),
    queues: {
      producers: producers.map((each) => (each.queue === undefined ? each : { ...each, queue: own(each.queue) })),
      consumers: consumers.map(({ dead_letter_queue: dead, ...each }) => ({
        ...each,
        queue: own(each.queue),
        ...(dead !== undefined && { dead_letter_queue: own(dead) }),
      })),
    },
  }
}

/** Returns what tells the environment that has a resource, by its kind and its name or id. */
export function ownersIn(environments: readonly Environment[]): (noun: string, name: string) => string | undefined {
  const owners = new Map<string, string>()
  for (const { name: environment, workers } of environments)
    for (const { noun, names } of workers.flatMap(resourcesOf))
      for (const name of names) owners.set(`${noun} ${name}`, environment)
  return (noun, name) => owners.get(`${noun} ${name}`)
}

/**
 * Returns what the Workers of one environment would share with the others of the project: each setting that names a
 * resource which another environment names, too. `allowed` are the names and ids of those that it may share.
 */
export function sharedResources(
  { name: environment, workers }: Environment,
  others: readonly Environment[],
  allowed: readonly string[] = [],
): readonly CheckProblem[] {
  const ownerOf = ownersIn(others)
  return workers.flatMap((worker) => {
    const problems = resourcesOf(worker).flatMap(({ noun, names }): [string, CheckProblem][] => {
      const owner = names.map((each) => ownerOf(noun, each)).find((each) => each !== undefined)
      const [name = ''] = names
      if (owner === undefined || names.some((each) => allowed.includes(each))) return []
      const message = `${environment} would share the ${noun} ${name} with ${owner}.`
      const remedy =
        noun === 'Worker'
          ? `Give it another name in [env.${environment}].`
          : `Write one of its own into [env.${environment}], or share it on purpose with --allow-shared ${quoteArgument(name)}.`
      return [[message, { file: worker.config, message, remedy }]]
    })
    return [...new Map(problems).values()]
  })
}
