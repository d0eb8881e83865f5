import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Descriptions } from '../check/describe.ts'
import type { Target } from '../check/target.ts'
import { quoteArgument, shellCommand } from '../command/shell.ts'
import type { Terminal } from '../command/terminal.ts'
import type { DefinitionFile } from '../definitions.ts'
import type { AccountApi } from './account-api.ts'
import { reasonsNotToAnswer } from './answering.ts'
import { changedDefinitions, storeDefinition } from './definitions.ts'
import { manifestText } from './manifest-text.ts'
import { type DeployOptions, isDefinitionsOnly } from './options.ts'
import { secretNames, type Step } from './plan.ts'
import {
  type DeployAttempt,
  type DeployedDefinition,
  type DeployedWorker,
  type DeployRecord,
  finished,
  type Manifest,
  readRecord,
  type RecordStore,
  recordTitle,
} from './record.ts'
import { rollOut } from './roll-out.ts'
import type { Secrets } from './secrets.ts'
import { storageMark } from './storage.ts'
import { createNamespace, deployBundle, uploadMessage } from './upload.ts'
import { type EdgeAddress, problemOf, send } from '../edge.ts'
import { Failure } from '../failure.ts'
import { listAllTools, type ListedTool } from '../listing.ts'

/** What a deployment works with once everything is checked. */
interface Deployment {
  readonly options: DeployOptions
  readonly targets: readonly Target[]
  readonly steps: readonly Step[]
  readonly descriptions: Descriptions
  readonly files: readonly DefinitionFile[]
  readonly project: string
  readonly secrets: Secrets
  readonly store: RecordStore
}

/**
 * Deploys what is planned, one Worker after another, and records each. Throws a Failure at the first step that fails.
 */
export async function perform(
  deployment: Deployment,
  { api, edge }: { readonly api: AccountApi; readonly edge: Target },
): Promise<void> {
  const { options, targets, steps, project, descriptions, secrets } = deployment
  const { root, env, terminal, signal, environment } = options
  let { store } = deployment
  if (store.namespace === undefined) store = await createStore({ root, env, api, edge })
  const before = store.record?.current
  const storedBefore = storedDefinitions(store.record)
  const attempt = beginAttempt(deployment)
  const { id } = attempt
  let record: DeployRecord = { ...(store.record ?? { format: 1, project, previous: [] }), attempt }
  await store.write(record)
  const save = async ({ live, definition }: { live?: DeployedWorker; definition?: DeployedDefinition }) => {
    const { attempt: now = attempt } = record
    const lives = live ? [...now.live, live] : now.live
    const definitions = definition ? merged(now.definitions, [definition]) : now.definitions
    record = { ...record, attempt: { ...now, live: lives, definitions } }
    await store.write(record)
  }

  const workers = new Map((before?.workers ?? []).map((worker) => [worker.name, worker]))
  const state = { live: [] as string[], remaining: steps.map(({ bundle }) => bundle.target.name) }
  try {
    for (const step of steps) {
      signal.throwIfAborted()
      const { target } = step.bundle
      const worker = await deployStep(deployment, step, { id, before: workers.get(target.name) })
      workers.set(target.name, worker)
      if (worker !== step.done) await save({ live: worker })
      state.live.push(target.name)
      state.remaining.shift()
      terminal.print(`${target.name}: ${step.done === worker ? 'unchanged' : 'live'}, version ${worker.version}\n`)
    }
    const address = edgeAddress(env, workers.get(edge.name))
    const definitions = merged(storedBefore, record.attempt?.definitions ?? [])
    const notes = address && !isDefinitionsOnly(options) ? await smoke(address, toolNames(descriptions), signal) : []
    for (const note of notes) terminal.print(`${note}\n`)
    const changed = definitionsToStore(deployment, definitions)
    const stored = await storeAll(changed, { address, terminal, save: (definition) => save({ definition }) })
    const projectWorkers = new Set(targets.map(({ name }) => name))
    const manifest: Manifest = {
      id,
      at: new Date().toISOString(),
      environment,
      workers: [...workers.values()].filter(({ name }) => projectWorkers.has(name)),
      definitions: merged(definitions, stored),
    }
    await store.write(finished(record, manifest))
    report(deployment, {
      manifest,
      edge,
      orphans: [...workers.values()].filter(({ name }) => !projectWorkers.has(name)),
    })
  } catch (error) {
    throw halfWay(error, {
      ...state,
      hasBefore: before !== undefined,
      hasSecrets: Object.keys(secrets).length > 0,
      options,
    })
  }
}

/** Returns what the record says while the deployment is not finished. One that is continued keeps its id. */
function beginAttempt(deployment: Deployment): DeployAttempt {
  const { options, steps, secrets, store } = deployment
  const previous = store.record?.attempt
  const toStore = definitionsToStore(deployment, storedDefinitions(store.record)).map(({ name }) => name)
  return {
    kind: 'deploy',
    id: previous?.kind === 'deploy' && options.resume ? previous.id : newId(),
    at: new Date().toISOString(),
    workers: Object.fromEntries(steps.map(({ bundle }) => [bundle.target.name, bundle.hash])),
    live: steps.flatMap(({ bundle, done }) => (done && !secrets[bundle.target.baseName] ? done : [])),
    marks: Object.fromEntries(steps.map(({ bundle: { target } }) => [target.name, storageMark(target)])),
    writes: [...new Set([...(previous?.writes ?? []), ...toStore])],
    definitions: previous?.kind === 'deploy' ? previous.definitions : [],
    secrets: Object.fromEntries(Object.entries(secrets).map(([worker, values]) => [worker, Object.keys(values)])),
    ...(options.only !== undefined && { only: options.only }),
    ...(options.gradual !== undefined && { gradual: options.gradual }),
  }
}

/** Returns the definitions that are stored as the last deployment left them. */
function storedDefinitions(record: DeployRecord | undefined): readonly DeployedDefinition[] {
  // A rollback that has stopped half-way may have restored any of them.
  return record?.attempt?.kind === 'rollback' ? [] : (record?.current?.definitions ?? [])
}

/** Returns the definitions to store: those that have changed, unless a Worker alone is deployed. */
function definitionsToStore(
  { options, files }: Deployment,
  stored: readonly DeployedDefinition[],
): readonly DefinitionFile[] {
  return options.only === undefined || isDefinitionsOnly(options) ? changedDefinitions(files, stored) : []
}

/** Creates the namespace for the record. It may exist even if wrangler says that it does not: the answer may be lost. */
async function createStore({
  root,
  env,
  api,
  edge,
}: Pick<DeployOptions, 'root' | 'env'> & { readonly api: AccountApi; readonly edge: Target }): Promise<RecordStore> {
  const failed = await createNamespace({ root, env }, recordTitle(edge.name)).catch((error: unknown) => error)
  const store = await readRecord(api, edge.name)
  if (store.namespace === undefined) throw failed
  return store
}

async function deployStep(
  { options, descriptions, project, secrets }: Deployment,
  step: Step,
  { id, before }: { readonly id: string; readonly before: DeployedWorker | undefined },
): Promise<DeployedWorker> {
  const { bundle, done } = step
  const { name, baseName, role } = bundle.target
  const { root, env, gradual } = options
  const upload = { root, env, bundle, message: uploadMessage(project, id), secrets: secrets[baseName] ?? {} }
  if (gradual !== undefined) return rollOut(upload, { step, before, percent: gradual })
  const tools = descriptions.get(name) ?? []
  const { hash, size, gzip } = bundle
  const common = { name, role, hash, size, gzip, tools, ...storageMark(bundle.target) }
  if (done && secrets[baseName] === undefined) return done
  return { ...common, ...(await deployBundle(upload)) }
}

function edgeAddress(env: NodeJS.ProcessEnv, edge: DeployedWorker | undefined): EdgeAddress | undefined {
  const url = env['EDGECALL_URL'] || edge?.address
  return url ? { url: url.replace(/\/+$/, ''), key: env['EDGECALL_KEY'] || undefined } : undefined
}

/** Stores definitions through the edge, because only the edge checks them and orders their writes. */
async function storeAll(
  changed: readonly DefinitionFile[],
  {
    address,
    terminal,
    save,
  }: {
    readonly address: EdgeAddress | undefined
    readonly terminal: Terminal
    readonly save: (definition: DeployedDefinition) => Promise<void>
  },
): Promise<readonly DeployedDefinition[]> {
  if (changed.length === 0) return []
  const names = changed.map(({ name }) => name).join(', ')
  if (address?.key === undefined) {
    terminal.print(`Not stored, because no key was given: ${names}. Set EDGECALL_KEY to one with the scope tools:admin
(and EDGECALL_URL, if the edge has no workers.dev address), then: ${shellCommand('deploy --only definitions')}\n`)
    return []
  }
  const stored: DeployedDefinition[] = []
  for (const file of changed) {
    const definition = await storeDefinition(address, file)
    stored.push(definition)
    await save(definition)
  }
  terminal.print(`Stored at ${address.url}: ${names}\n`)
  return stored
}

function merged(
  old: readonly DeployedDefinition[],
  more: readonly DeployedDefinition[],
): readonly DeployedDefinition[] {
  const byName = new Map([...old, ...more].map((each) => [each.name, each]))
  return [...byName.values()]
}

function toolNames(descriptions: Descriptions): string[] {
  return [...descriptions.values()].flat().map(({ name }) => name)
}

function report(
  { options: { terminal }, steps, secrets }: Deployment,
  { manifest, edge, orphans }: { manifest: Manifest; edge: Target; orphans: readonly DeployedWorker[] },
): void {
  terminal.print(manifestText(manifest))
  for (const { name } of orphans) {
    terminal.print(
      `${name} is no longer of this project and still in the account: npx wrangler delete --name ${name}\n`,
    )
  }
  const step = steps.find(({ bundle }) => bundle.target.name === edge.name)
  const names = new Set([...secretNames(step?.live), ...Object.keys(secrets[edge.baseName] ?? {})])
  const reasons = step ? reasonsNotToAnswer(edge, names) : []
  for (const reason of reasons) terminal.print(`${edge.name}: ${reason}\n`)
  terminal.emit({ manifest, warnings: reasons })
}

function newId(): string {
  return randomBytes(5).toString('hex')
}

/** Adds to a failure what is live, what is not, and how to continue or roll back. */
function halfWay(
  error: unknown,
  {
    live,
    remaining,
    hasBefore,
    hasSecrets,
    options: { environment, allowShared },
  }: {
    live: readonly string[]
    remaining: readonly string[]
    hasBefore: boolean
    hasSecrets: boolean
    options: DeployOptions
  },
): unknown {
  if (!(error instanceof Failure)) return error
  const env = environment === 'production' ? '' : ` --env ${environment}`
  const shared = allowShared.map((each) => ` --allow-shared ${quoteArgument(each)}`).join('')
  const secrets = hasSecrets ? ' --secrets <file>' : ''
  const done = live.length === 0 ? 'Nothing is replaced yet.' : `Live: ${live.join(', ')}.`
  const rest = remaining.length === 0 ? '' : ` Not yet: ${remaining.join(', ')}.`
  const back = hasBefore ? `\nTo go back: ${shellCommand(`rollback${env}`)}` : ''
  return new Failure(
    error.message,
    `${error.hint === '' ? '' : `${error.hint}\n`}${done}${rest}\nTo continue: ${shellCommand(`deploy --continue${env}${shared}${secrets}`)}${back}`,
  )
}

/** A new workers.dev address takes some seconds until it answers. */
const WAITS_MS = [0, 500, 1000, 2000, 4000, 8000]

/**
 * Asks a deployed edge for its health and, with a key, whether it has the tools that were deployed. Returns what an
 * operator should know, such as tools that are not available. Throws a Failure if the edge does not answer.
 */
async function smoke(edge: EdgeAddress, tools: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const health = await healthOf(edge, signal)
  if (health.status === 503) return [`${edge.url} answers 503: ${(await problemOf(health)).message}`]
  if (!health.ok) throw new Failure(`${edge.url}/health answers ${health.status}.`, ADVICE)
  await health.body?.cancel()
  if (edge.key === undefined) return []
  let listing: ReadonlyMap<string, ListedTool>
  try {
    listing = new Map((await listAllTools(edge, signal)).map((tool) => [tool.name, tool]))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [`${edge.url} does not list its tools: ${error.message}`]
  }
  return tools.flatMap((name) => {
    const { available, reason } = listing.get(name) ?? {}
    if (available === undefined) return [`${edge.url} does not list the tool ${name}.`]
    return available ? [] : [`${name} is not available: ${reason ?? 'no reason given'}`]
  })
}

const ADVICE = `Run \`${shellCommand('rollback')}\` to restore the previous deployment, or see \`${shellCommand('tail')}\` for the reason.`

async function healthOf(edge: EdgeAddress, signal: AbortSignal): Promise<Response> {
  let failure: unknown
  for (const wait of WAITS_MS) {
    await sleep(wait, undefined, { signal })
    try {
      const answer = await send(edge, { method: 'GET', path: '/health' }, signal)
      if (answer.status !== 404) return answer
      failure = new Failure(`${edge.url}/health answers 404.`, ADVICE)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
    }
  }
  throw failure
}
