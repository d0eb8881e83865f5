import { randomBytes } from 'node:crypto'
import { type Descriptions, startBundles } from '../check/describe.ts'
import { failureOf } from '../check/problem.ts'
import { standInProblems } from '../check/stand-ins.ts'
import { readTargets, type Target } from '../check/target.ts'
import { checkTypes } from '../check/types.ts'
import type { Terminal } from '../command/terminal.ts'
import { type DefinitionFile, readDefinitions } from '../definitions.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { type AccountApi, openAccount } from './account-api.ts'
import { reasonsNotToAnswer } from './answering.ts'
import { type Bundle, type MakeBundle, makeBundle } from './bundle.ts'
import { breaksOf, contractProblems } from './contract.ts'
import { changedDefinitions, putDefinition } from './definitions.ts'
import { manifestText, sizesText } from './manifest-text.ts'
import { planOf, type Step, strangers } from './plan.ts'
import { nameProject, readProject } from './project.ts'
import {
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
import { askMissing, readSecrets, type Secrets } from './secrets.ts'
import { smoke } from './smoke.ts'
import { createNamespace, deployBundle, uploadMessage } from './upload.ts'

export interface DeployOptions {
  /** The project's folder. */
  readonly root: string
  /** Provides EDGECALL_URL and EDGECALL_KEY, and the variables that wrangler reads. */
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Check and build all Workers, but change nothing. Needs no account and no network. */
  readonly dryRun: boolean
  /** Such as `staging`. */
  readonly environment: string
  /** Deploy this Worker alone, or `definitions`. Default: everything. */
  readonly only?: string | undefined
  /** Finish a deployment that has stopped half-way, with the same sources. */
  readonly resume: boolean
  /** With `only`: the percentage of requests that the new version gets. Default: all. */
  readonly gradual?: number | undefined
  /** A file of secrets to set. */
  readonly secrets?: string | undefined
  /** Tools whose contracts may break. */
  readonly allowBreak: readonly string[]
  /** Workers that may be deployed although they are stand-ins. */
  readonly allowStandIn: readonly string[]
  /** Workers of the account that may be overwritten although they are not of this project. */
  readonly adopt: readonly string[]
  /** Makes the bundles. Default: wrangler builds. */
  readonly bundle?: MakeBundle
  /** Starts the bundles and has them describe themselves. Default: in workerd. */
  readonly start?: typeof startBundles
}

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
 * Checks everything, then deploys the tool Workers that have changed, then the edge, whose bindings need Workers that
 * exist, asks the new edge for its health, and stores the definitions that have changed. The record in the account says
 * after each step what is live. Throws a Failure at the first step that fails, and says how to go on or back.
 */
export async function deploy(options: DeployOptions): Promise<void> {
  const { root, env, terminal, dryRun } = options
  const project = readProject(root)
  const { targets, unbound } = await checkProject(options, project.prefix)
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) throw new Failure('There is no edge.')
  const files = readDefinitions(root)
  const wanted = wantedTargets(targets, options)
  const bundles = await bundleAll(wanted, options)
  const started = await (options.start ?? startBundles)(bundles)
  if (!started.ok) throw failureOf(started.problems)
  const { descriptions } = started
  for (const { baseName, config } of unbound) {
    terminal.print(`${config}: ${baseName} is not bound to the edge, so it is not deployed.\n`)
  }
  if (dryRun) {
    terminal.print(sizesText(bundles))
    terminal.emit({ dryRun: true, workers: bundles.map(sizesOf) })
    return
  }

  const api = await openAccount({ root, env, accountId: edge.settings.account_id })
  const store = await readRecord(api, edge.name)
  checkRecord(store.record, project.id, options)
  const steps = await planOf(api, { bundles, record: store.record })
  const live = store.record?.current?.workers ?? []
  const configOf = (worker: string) => targets.find(({ name }) => name === worker)?.config ?? worker
  const foreign = strangers(steps, { project: project.id ?? '', record: store.record, adopted: options.adopt })
  const breaks = breaksOf(live, descriptions)
  const problems = [...foreign, ...contractProblems(breaks, { allowed: options.allowBreak, configOf })]
  if (problems.length > 0) throw failureOf(problems)
  checkContinue(store.record, steps, options)
  const secrets = await gatherSecrets(options, { targets: wanted, steps })

  // From here on the account and package.json are changed.
  const id = project.id ?? nameProject(root)
  if (project.id === undefined) terminal.print(`package.json: edgecall.project is ${id}. Commit it.\n`)
  await perform({ options, targets, steps, descriptions, files, project: id, secrets, store }, { api, edge })
}

async function perform(
  deployment: Deployment,
  { api, edge }: { readonly api: AccountApi; readonly edge: Target },
): Promise<void> {
  const { options, targets, steps, project, descriptions, files } = deployment
  const { root, env, terminal, signal, environment } = options
  let { store } = deployment
  if (store.namespace === undefined) store = await createStore({ root, env, api, edge })
  const id = store.record?.attempt?.kind === 'deploy' && options.resume ? store.record.attempt.id : newId()
  const before = store.record?.current
  // A rollback that has stopped half-way may have restored any of them.
  const storedBefore = store.record?.attempt?.kind === 'rollback' ? [] : (before?.definitions ?? [])
  let record: DeployRecord = {
    ...(store.record ?? { format: 1, project, previous: [] }),
    attempt: {
      kind: 'deploy',
      id,
      at: new Date().toISOString(),
      workers: Object.fromEntries(steps.map(({ bundle }) => [bundle.target.name, bundle.hash])),
      live: steps.flatMap(({ done }) => done ?? []),
      definitions: store.record?.attempt?.kind === 'deploy' ? store.record.attempt.definitions : [],
    },
  }
  await store.write(record)
  const save = async ({ live, definition }: { live?: DeployedWorker; definition?: DeployedDefinition }) => {
    const { attempt } = record
    if (!attempt) return
    const lives = live ? [...attempt.live, live] : attempt.live
    const definitions = definition ? merged(attempt.definitions, [definition]) : attempt.definitions
    record = { ...record, attempt: { ...attempt, live: lives, definitions } }
    await store.write(record)
  }

  const workers = new Map((before?.workers ?? []).map((worker) => [worker.name, worker]))
  const state = { live: [] as string[], left: steps.map(({ bundle }) => bundle.target.name) }
  try {
    for (const step of steps) {
      signal.throwIfAborted()
      const { target } = step.bundle
      const worker = await deployStep(deployment, step, { id, before: workers.get(target.name) })
      workers.set(target.name, worker)
      if (worker !== step.done) await save({ live: worker })
      state.live.push(target.name)
      state.left.shift()
      terminal.print(`${target.name}: ${step.done === worker ? 'unchanged' : 'live'}, version ${worker.version}\n`)
    }
    const address = edgeAddress(env, workers.get(edge.name))
    const definitions = merged(storedBefore, record.attempt?.definitions ?? [])
    const notes = address && !isDefinitionsOnly(options) ? await smoke(address, toolNames(descriptions), signal) : []
    for (const note of notes) terminal.print(`${note}\n`)
    const changed =
      options.only === undefined || isDefinitionsOnly(options) ? changedDefinitions(files, definitions) : []
    const stored = await storeAll(changed, { address, terminal, save: (definition) => save({ definition }) })
    const known = new Set(targets.map(({ name }) => name))
    const manifest: Manifest = {
      id,
      at: new Date().toISOString(),
      environment,
      workers: [...workers.values()].filter(({ name }) => known.has(name)),
      definitions: merged(definitions, stored),
    }
    await store.write(finished(record, manifest))
    report(deployment, { manifest, edge, gone: [...workers.values()].filter(({ name }) => !known.has(name)) })
  } catch (error) {
    throw halfWay(error, { ...state, hasBefore: before !== undefined, environment })
  }
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
  const common = { name, role, hash, size, gzip, tools }
  if (done && secrets[baseName] === undefined) return done
  return { ...common, ...(await deployBundle(upload)) }
}

/** Checks all that can be checked without building. Throws a Failure that lists every problem. */
async function checkProject(options: DeployOptions, prefix: string | undefined) {
  const { root, environment, allowStandIn } = options
  const { targets, unbound, problems } = await readTargets({ root, environment, prefix })
  const types = await checkTypes(root)
  const all = [...problems, ...standInProblems(wantedTargets(targets, options), allowStandIn), ...types]
  if (all.length > 0) throw failureOf(all)
  return { targets, unbound }
}

function isDefinitionsOnly({ only }: DeployOptions): boolean {
  return only === 'definitions'
}

/** Returns the Workers to deploy. Throws a Failure if `only` names none of them. */
function wantedTargets(targets: readonly Target[], options: DeployOptions): readonly Target[] {
  const { only, gradual } = options
  if (gradual !== undefined && (only === undefined || isDefinitionsOnly(options))) {
    throw new Failure('--gradual needs a Worker.', 'Name it: --only <worker>.')
  }
  if (only === undefined || targets.length === 0) return targets
  if (isDefinitionsOnly(options)) return []
  const wanted = targets.filter(({ name, baseName }) => only === name || only === baseName)
  if (wanted.length > 0) return wanted
  const names = targets.map(({ baseName }) => baseName).join(', ')
  throw new Failure(`There is no Worker "${only}" to deploy.`, `Those of this project are ${names}; or "definitions".`)
}

async function bundleAll(targets: readonly Target[], { root, env, bundle = makeBundle }: DeployOptions) {
  const bundles: Bundle[] = []
  for (const target of targets) bundles.push(await bundle(target, { root, env }))
  return bundles
}

function sizesOf({ target, hash, size, gzip }: Bundle) {
  return { name: target.name, hash, size, gzip }
}

function checkRecord(record: DeployRecord | undefined, id: string | undefined, { adopt }: DeployOptions): void {
  if (!record || record.project === id || adopt.length > 0) return
  throw new Failure(
    `package.json: edgecall.project is ${id ?? 'not set'}, and these Workers were deployed by the project ${record.project}.`,
    id === undefined
      ? `If it is this one, set "edgecall": { "project": "${record.project}" }; else choose a "prefix" beside it.`
      : 'Set "edgecall": { "prefix": "…" } in package.json for names of your own.',
  )
}

/** Checks that `--continue` finishes what was begun: with other sources it would be another deployment. */
function checkContinue(record: DeployRecord | undefined, steps: readonly Step[], { resume }: DeployOptions): void {
  if (!resume) return
  const attempt = record?.attempt
  if (attempt?.kind === 'rollback') {
    throw new Failure('A rollback was begun and is not finished.', 'Run `edgecall rollback` to finish it.')
  }
  const wanted = attempt?.workers ?? hashesOf(record?.current)
  const other = steps.find(({ bundle }) => wanted[bundle.target.name] !== bundle.hash)
  if (!other) return
  if (!attempt) throw new Failure('There is no deployment to continue.', 'Run `edgecall deploy`.')
  throw new Failure(
    `${other.bundle.target.name} is not what it was when the deployment was begun.`,
    'Run `edgecall deploy` to deploy what is here now, or `edgecall rollback`.',
  )
}

function hashesOf(manifest: Manifest | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((manifest?.workers ?? []).map(({ name, hash }) => [name, hash]))
}

async function gatherSecrets(
  { root, secrets: file, terminal }: DeployOptions,
  { targets, steps }: { readonly targets: readonly Target[]; readonly steps: readonly Step[] },
): Promise<Secrets> {
  const given: Record<string, Readonly<Record<string, string>>> = file === undefined
    ? {}
    : { ...readSecrets(root, file, targets) }
  for (const { bundle, live } of steps) {
    const { baseName } = bundle.target
    const own = given[baseName] ?? {}
    const present = new Set([...secretsOf(live), ...Object.keys(own)])
    const typed = await askMissing(bundle.target, { present, terminal })
    if (Object.keys(typed).length > 0) given[baseName] = { ...own, ...typed }
  }
  return given
}

function secretsOf(live: Step['live']): string[] {
  const latest = live?.at(-1)?.bindings ?? []
  return latest.flatMap(({ name, type }) => (type === 'secret_text' ? name : []))
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
    terminal.print(`Not stored, for want of a key: ${names}. Set EDGECALL_KEY to one with the scope tools:admin
(and EDGECALL_URL, if the edge has no workers.dev address), then: edgecall deploy --only definitions\n`)
    return []
  }
  const stored: DeployedDefinition[] = []
  for (const file of changed) {
    const definition = await putDefinition(address, file)
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
  { manifest, edge, gone }: { manifest: Manifest; edge: Target; gone: readonly DeployedWorker[] },
): void {
  terminal.print(manifestText(manifest))
  for (const { name } of gone) {
    terminal.print(
      `${name} is no longer of this project and still in the account: npx wrangler delete --name ${name}\n`,
    )
  }
  const step = steps.find(({ bundle }) => bundle.target.name === edge.name)
  const names = new Set([...secretsOf(step?.live), ...Object.keys(secrets[edge.baseName] ?? {})])
  const reasons = step ? reasonsNotToAnswer(edge, names) : []
  for (const reason of reasons) terminal.print(`${edge.name}: ${reason}\n`)
  terminal.emit({ manifest, warnings: reasons })
}

function newId(): string {
  return randomBytes(5).toString('hex')
}

/** Adds to a failure what is live, what is not, and how to go on or back. */
function halfWay(
  error: unknown,
  {
    live,
    left,
    hasBefore,
    environment,
  }: { live: readonly string[]; left: readonly string[]; hasBefore: boolean; environment: string },
): unknown {
  if (!(error instanceof Failure)) return error
  const env = environment === 'production' ? '' : ` --env ${environment}`
  const done = live.length === 0 ? 'Nothing is replaced yet.' : `Live: ${live.join(', ')}.`
  const rest = left.length === 0 ? '' : ` Not yet: ${left.join(', ')}.`
  const back = hasBefore ? `, or back: edgecall rollback${env}` : ''
  return new Failure(
    error.message,
    `${error.hint === '' ? '' : `${error.hint}\n`}${done}${rest} To go on: edgecall deploy --continue${env}${back}.`,
  )
}
