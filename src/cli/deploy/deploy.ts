import { type Descriptions, startBundles } from '../check/describe.ts'
import { offerProblems } from '../check/descriptions.ts'
import { sharedResources } from '../check/environments.ts'
import { patternProblems, subjectsHere } from '../check/patterns.ts'
import { type CheckProblem, failureOf } from '../check/problem.ts'
import { standInProblems } from '../check/stand-ins.ts'
import { readSources, triggerProblems } from '../check/triggers.ts'
import { readTargets, type Target } from '../check/target.ts'
import { checkTypes } from '../check/types.ts'
import { shellCommand } from '../command/shell.ts'
import { readDefinitions } from '../definitions.ts'
import { type AccountApi, openAccount } from './account-api.ts'
import { type Bundle, makeBundle } from './bundle.ts'
import { sizesText } from './manifest-text.ts'
import { type DeployOptions, isDefinitionsOnly } from './options.ts'
import { perform } from './perform.ts'
import { foreignText, planOf, secretNames, type Step, strangers } from './plan.ts'
import { nameProject, readIdentity } from './project.ts'
import { type DeployedWorker, type DeployRecord, lostRecordText, type Manifest, readRecord } from './record.ts'
import { inheritedResources, missingResources } from './resources.ts'
import { requireChange } from './roll-out.ts'
import { askMissing, readSecrets, type Secrets } from './secrets.ts'
import { isUnreadable, storageMark } from './storage.ts'
import { Failure } from '../failure.ts'
import type { DefinitionIssue } from '../../contract/definition.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { contractBreaks } from '../../definitions/change.ts'

/**
 * Checks everything, then deploys the tool Workers that have changed, then the edge, whose bindings need Workers that
 * exist, asks the new edge for its health, and stores the definitions that have changed. The record in the account says
 * after each step what is live. Throws a Failure at the first step that fails, and says how to continue or roll back.
 */
export async function deploy(commandLine: DeployOptions): Promise<void> {
  const { root, terminal, dryRun } = commandLine
  const project = readIdentity(root)
  const { targets, unbound, others } = await checkProject(commandLine, project.prefix)
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) throw new Failure('There is no edge.')
  const files = readDefinitions(root)
  const account = dryRun ? undefined : await readAccount(commandLine, edge)
  const options = withAttempt(commandLine, account?.store.record)
  const wanted = wantedTargets(targets, options)
  const secretsInFile = options.secrets === undefined ? {} : readSecrets(root, options.secrets, wanted)
  const bundles = await bundleAll(wanted, options)
  const started = await (options.start ?? startBundles)(bundles)
  if (!started.ok) throw failureOf(started.problems)
  const { descriptions } = started
  for (const { baseName, config } of unbound) {
    terminal.print(`${config}: ${baseName} is not bound to the edge, so it is not deployed.\n`)
  }
  const subjects =
    wanted.length === targets.length ? subjectsHere(descriptions, { targets, definitions: files }) : undefined
  const described = wanted.flatMap(({ name, config }) =>
    (descriptions.get(name) ?? []).map((tool) => ({ file: config, tool })),
  )
  const warnings = [...(subjects ? patternProblems(edge, subjects) : []), ...offerProblems(described)]
  for (const { file, message, remedy } of warnings) terminal.print(`${file}: ${message} ${remedy}\n`)
  if (!account) {
    terminal.print(sizesText(bundles))
    terminal.emit({ dryRun: true, workers: bundles.map(sizesOf) })
    return
  }

  const { api, store } = account
  const { record } = store
  checkRecord(record, project.id, options)
  const steps = await planOf(api, { bundles, record, project: project.id })
  const live = record?.current?.workers ?? []
  const problems = [...(await missingResources(api, steps))]
  if (options.environment !== 'production') problems.push(...inheritedResources(steps, others, options.allowShared))
  if (options.resume) checkContinue(record, steps)
  else {
    // What is continued was checked when it was begun, and allowed by name where that was needed.
    const configOf = (worker: string) => targets.find(({ name }) => name === worker)?.config ?? worker
    problems.push(
      ...strangers(steps, { project: project.id ?? '', record, adopted: options.adopt }),
      ...contractProblems(breaksOf(live, descriptions), { allowed: options.allowBreak, configOf }),
    )
  }
  if (problems.length > 0) throw failureOf(problems)
  if (options.gradual !== undefined)
    for (const step of steps)
      requireChange(
        step,
        live.find(({ name }) => name === step.bundle.target.name),
      )
  for (const { bundle, done } of steps) {
    const before = live.find(({ name }) => name === bundle.target.name)
    if (done || !before || !isUnreadable(storageMark(bundle.target), before)) continue
    terminal.print(`${bundle.target.name}: ${NO_WAY_BACK}\n`)
  }
  const secrets = await gatherSecrets(options, { secretsInFile, steps, record })
  await confirmLosses(options, await lossesOf({ api, edge, steps, record, project: project.id }))

  // From here on the account and package.json are changed.
  const id = project.id ?? nameProject(root)
  if (project.id === undefined) terminal.print(`package.json: edgecall.project is ${id}. Commit it.\n`)
  await perform({ options, targets, steps, descriptions, files, project: id, secrets, store }, { api, edge })
}

const NO_WAY_BACK = `the version before cannot read what this one stores, so that \`${shellCommand('rollback')}\` does not go back to it.`

/** Checks all that can be checked without building. Throws a Failure that lists every problem. */
async function checkProject(options: DeployOptions, prefix: string | undefined) {
  const { root, environment, allowStandIn, allowShared, resume } = options
  const { targets, unbound, problems, others } = await readTargets({ root, environment, prefix, allowShared })
  const types = await checkTypes(root)
  const standIns = resume ? [] : standInProblems(wantedTargets(targets, options), allowStandIn)
  const edge = targets.find(({ role }) => role === 'edge')
  const shared = sharedResources({ name: environment, workers: targets }, others, allowShared)
  // Production is not refused what is its own: the other environment is refused it.
  const sharing = environment === 'production' ? [] : shared
  const all = [
    ...problems,
    ...sharing,
    ...standIns,
    ...(edge ? triggerProblems(edge, readSources(root, edge)) : []),
    ...types,
  ]
  if (all.length > 0) throw failureOf(all)
  return { targets, unbound, others }
}

async function readAccount({ root, env }: DeployOptions, edge: Target) {
  const api = await openAccount({ root, env, accountId: edge.settings.account_id })
  return { api, store: await readRecord(api, edge.name) }
}

/** Returns the options with which a deployment is continued: those with which it was begun. */
function withAttempt(options: DeployOptions, record: DeployRecord | undefined): DeployOptions {
  const { attempt } = record ?? {}
  if (!options.resume || !attempt) return options
  if (attempt.kind === 'rollback') {
    throw new Failure('A rollback was begun and is not finished.', `Run \`${shellCommand('rollback')}\` to finish it.`)
  }
  return { ...options, only: attempt.only, gradual: attempt.gradual }
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
function checkContinue(record: DeployRecord | undefined, steps: readonly Step[]): void {
  const attempt = record?.attempt
  const wanted = attempt?.workers ?? hashesOf(record?.current)
  const other = steps.find(({ bundle }) => wanted[bundle.target.name] !== bundle.hash)
  if (!other) return
  if (!attempt) throw new Failure('There is no deployment to continue.', `Run \`${shellCommand('deploy')}\`.`)
  throw new Failure(
    `${other.bundle.target.name} is not what it was when the deployment was begun.`,
    `Run \`${shellCommand('deploy')}\` to deploy what is here now, or \`${shellCommand('rollback')}\`.`,
  )
}

function hashesOf(manifest: Manifest | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((manifest?.workers ?? []).map(({ name, hash }) => [name, hash]))
}

/** Says what a deployment would undo or lose that somebody might want to keep, in a paragraph and its question. */
interface Loss {
  readonly text: string
  readonly question: string
  /** What is printed if it is done without asking. */
  readonly notice: string
}

async function lossesOf({
  api,
  edge,
  steps,
  record,
  project,
}: {
  readonly api: AccountApi
  readonly edge: Target
  readonly steps: readonly Step[]
  readonly record: DeployRecord | undefined
  readonly project: string | undefined
}): Promise<readonly Loss[]> {
  const losses = steps.flatMap((step): Loss[] => {
    const text = foreignText(step)
    return text === undefined ? [] : [{ text, question: 'Replace it?', notice: 'It is replaced.' }]
  })
  const lost = record ? undefined : lostRecordText(edge.name, await api.live(edge.name), project)
  if (lost === undefined) return losses
  return [...losses, { text: lost, question: 'Begin a new one?', notice: 'A new one begins.' }]
}

/** Asks about each loss. Throws a Failure if the answer is no, or if nobody can answer. */
async function confirmLosses({ force, terminal }: DeployOptions, losses: readonly Loss[]): Promise<void> {
  for (const { text, question, notice } of losses) {
    if (force) terminal.print(`${text} ${notice}\n`)
    else if (!(await terminal.confirm(`${text} ${question}`, 'Answer at a terminal, or deploy with --force.')))
      throw new Failure('Nothing was deployed.', text)
  }
}

async function gatherSecrets(
  { terminal, resume }: DeployOptions,
  {
    secretsInFile,
    steps,
    record,
  }: {
    readonly secretsInFile: Secrets
    readonly steps: readonly Step[]
    readonly record: DeployRecord | undefined
  },
): Promise<Secrets> {
  const secretsByWorker: Record<string, Readonly<Record<string, string>>> = { ...secretsInFile }
  const attempt = resume ? record?.attempt : undefined
  const isDone = (worker: string) => attempt?.live.some(({ name }) => name === worker)
  for (const { bundle, live } of steps) {
    const { baseName } = bundle.target
    const own = secretsByWorker[baseName] ?? {}
    const secretsOfAttempt = isDone(bundle.target.name) ? [] : (attempt?.secrets?.[baseName] ?? [])
    const missing = secretsOfAttempt.filter((name) => own[name] === undefined)
    if (missing.length > 0) {
      throw new Failure(
        `The deployment sets the secret ${missing.join(', ')} of ${baseName}, and its value is not recorded.`,
        'Continue with --secrets <file> too.',
      )
    }
    const present = new Set([...secretNames(live), ...Object.keys(own)])
    const typed = await askMissing(bundle.target, { present, terminal })
    if (Object.keys(typed).length > 0) secretsByWorker[baseName] = { ...own, ...typed }
  }
  return secretsByWorker
}

/** A tool that callers of the live one can no longer rely on. */
export interface ContractBreak {
  readonly worker: string
  readonly tool: string
  /** What changes, such as `inputSchema.properties.zone is required now`. */
  readonly reason: string
}

/**
 * Compares the tools that are live with those that are to be deployed. A tool that another Worker has from now on is
 * not gone. Workers that are neither live nor described are left out.
 */
export function breaksOf(live: readonly DeployedWorker[], next: Descriptions): readonly ContractBreak[] {
  const all = [...next.values()].flat()
  return live.flatMap(({ name: worker, tools }) => {
    if (!next.has(worker)) return []
    return tools.flatMap((before) => {
      const after = all.find(({ name }) => name === before.name)
      const reason = after ? issuesText(contractBreaks(before, after)) : removal(before, all, live)
      return reason === '' ? [] : [{ worker, tool: before.name, reason }]
    })
  })
}

function issuesText(issues: readonly DefinitionIssue[]): string {
  return issues.map(({ path, message }) => `${path} ${message}`).join('; ')
}

/** Tells that a tool is gone, or that a new one with its schema seems to be the same under another name. */
function removal(before: ToolDefinition, next: readonly ToolDefinition[], live: readonly DeployedWorker[]): string {
  const liveNames = new Set(live.flatMap(({ tools }) => tools.map(({ name }) => name)))
  const sameSchema = JSON.stringify(before.inputSchema)
  const renamed = next.find(
    ({ name, inputSchema }) => !liveNames.has(name) && JSON.stringify(inputSchema) === sameSchema,
  )
  return renamed ? `it is named ${renamed.name} now` : 'it is gone'
}

/** Returns the breaks that are not allowed by name, as problems of the Worker's configuration. */
export function contractProblems(
  breaks: readonly ContractBreak[],
  { allowed, configOf }: { readonly allowed: readonly string[]; readonly configOf: (worker: string) => string },
): readonly CheckProblem[] {
  return breaks
    .filter(({ tool }) => !allowed.includes(tool))
    .map(({ worker, tool, reason }) => ({
      file: configOf(worker),
      message: `The tool ${tool} would break its callers: ${reason}.`,
      remedy: `If that is meant, deploy with --allow-break ${tool}.`,
    }))
}
