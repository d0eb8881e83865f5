import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { startBundles, startSources } from '../check/describe.ts'
import { descriptionProblems } from '../check/descriptions.ts'
import { sharedResources } from '../check/environments.ts'
import { patternProblems } from '../check/patterns.ts'
import type { CheckProblem } from '../check/problem.ts'
import { standInProblems } from '../check/stand-ins.ts'
import { readSources, sharedSecretProblems, triggerProblems } from '../check/triggers.ts'
import { edgeConfigOf, readTargets, type Target } from '../check/target.ts'
import { checkTypes } from '../check/types.ts'
import { readVersions, versionProblems } from '../check/versions.ts'
import { shellCommand } from '../command/shell.ts'
import type { Terminal } from '../command/terminal.ts'
import { type DefinitionFile, definitionFiles, hostsOf, readDefinition } from '../definitions.ts'
import { openAccount } from '../deploy/account-api.ts'
import { reasonsNotToAnswer } from '../deploy/answering.ts'
import { type Bundle, makeBundle } from '../deploy/bundle.ts'
import { changedDefinitions } from '../deploy/definitions.ts'
import { planOf, secretNames, type Step } from '../deploy/plan.ts'
import { readIdentity } from '../deploy/project.ts'
import { type DeployRecord, lostRecordText, readRecord } from '../deploy/record.ts'
import { missingResources } from '../deploy/resources.ts'
import { type DoctorFinding, findingsOf } from './finding.ts'
import { cpuProblems, cpuText, type KindCpu, measureCpu, planProblems } from './plan.ts'
import { type FoundTools, toolsAtEdge, toolsHere } from './tools.ts'
import { Failure } from '../failure.ts'
import { findAddress } from '../remote/address.ts'
import { findWorkers, looseBindings } from '../workers.ts'
import type { WorkersPlan } from '../../contract/platform.ts'
import { messageOf } from '../../contract/thrown.ts'
import { readTextFile } from '../text-file.ts'

export interface DoctorOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** The edge whose tools are looked at. Default: as of other commands, or else the tools of the project. */
  readonly url?: string | undefined
  /** The environment whose deployment is compared, such as `staging`. */
  readonly environment: string
  /** The plan of Cloudflare whose limits the project is to keep. Default: none is looked at. */
  readonly plan?: WorkersPlan | undefined
}

/**
 * Looks for everything that keeps a project, its edge or its deployment from working well, and prints each with its
 * file and its remedy; under `--json` one value for each, then their counts. Changes nothing. Returns 1 if there is an
 * error. Throws a Failure if there is no project.
 */
export async function doctor(options: DoctorOptions): Promise<number> {
  const { root, terminal } = options
  edgeConfigOf(root)
  const versions = readVersions(root)
  const findings = [...findingsOf({ level: 'error', topic: 'versions' }, versionProblems(root, versions))]
  const notChecked: string[] = []
  let tools: FoundTools['tools'] = []
  let cpu: readonly KindCpu[] = []
  if (versions.wrangler === undefined) notChecked.push('all else needs wrangler')
  else {
    const report = await examine(options)
    findings.push(...report.findings)
    notChecked.push(...report.notChecked)
    tools = report.tools
    cpu = report.cpu ?? []
  }
  for (const finding of findings) terminal.emit(finding)
  const errors = findings.filter(({ level }) => level === 'error').length
  const warnings = findings.length - errors
  terminal.emit({ versions, tools: tools.length, errors, warnings, notChecked, ...(cpu.length > 0 && { cpu }) })
  terminal.print(`Node ${versions.node}, wrangler ${versions.wrangler ?? 'missing'}, edgecall ${versions.edgecall}\n`)
  for (const finding of findings) terminal.print(lineOf(finding))
  if (options.plan && cpu.length > 0) terminal.print(cpuText(cpu, options.plan))
  for (const reason of notChecked) terminal.print(`Not checked: ${reason}\n`)
  terminal.print(`${countOf(tools.length, 'tool')}: ${countOf(errors, 'error')}, ${countOf(warnings, 'warning')}\n`)
  return errors > 0 ? 1 : 0
}

function lineOf({ level, file, line, message, remedy }: DoctorFinding): string {
  return `${level.padEnd(8)} ${file}${line === undefined ? '' : `:${line}`}: ${message} ${remedy}`.trimEnd() + '\n'
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

interface Report {
  readonly findings: readonly DoctorFinding[]
  readonly tools: FoundTools['tools']
  /** What was not looked at, and why. */
  readonly notChecked: readonly string[]
  /** The CPU of each kind of invocation, if a plan is looked at. */
  readonly cpu?: readonly KindCpu[]
}

async function examine(options: DoctorOptions): Promise<Report> {
  const { root, env, signal, environment, url, plan } = options
  const findings: DoctorFinding[] = []
  const notChecked: string[] = []
  const { prefix, id: project } = readIdentity(root)
  const { targets, unbound, problems, others } = await readTargets({ root, environment, prefix })
  const { definitions, problems: unreadable } = readFiles(root)
  const types = await checkTypes(root)
  findings.push(...findingsOf({ level: 'error', topic: 'project' }, [...problems, ...unreadable, ...types]))
  if (problems.length > 0)
    return { findings, tools: [], notChecked: ['the tools, until the errors above are corrected'] }
  findings.push(
    ...findingsOf({ level: 'warning', topic: 'project' }, [
      ...unusedProblems(root, unbound),
      ...standInProblems(targets, []),
      ...sharedResources({ name: environment, workers: targets }, others),
    ]),
  )
  for (const target of targets) {
    const missing = missingHere(root, target, { names: neededSecrets(target, definitions), env })
    findings.push(...findingsOf({ level: 'warning', topic: 'secrets' }, missing))
  }
  const edge = targets.find(({ role }) => role === 'edge')
  if (edge) {
    const sources = readSources(root, edge)
    const shared = sharedSecretProblems(edge, sources, { ...env, ...variablesHere(root, edge) })
    findings.push(...findingsOf({ level: 'error', topic: 'project' }, triggerProblems(edge, sources)))
    findings.push(...findingsOf({ level: 'warning', topic: 'secrets' }, shared))
  }
  let cpu: readonly KindCpu[] = []
  if (plan && edge) {
    try {
      cpu = await measureCpu({ root, targets }, plan, signal)
    } catch (error) {
      signal.throwIfAborted()
      notChecked.push(`CPU: ${messageOf(error)}`)
    }
    const wrong = [...planProblems(edge, plan), ...cpuProblems(cpu, plan, edge.config)]
    findings.push(...findingsOf({ level: 'warning', topic: 'plan' }, wrong))
  }
  const address = findAddress({ root, env, url })
  // A deployment is compared with the bundles, which take seconds each.
  const bundles = project === undefined ? undefined : await bundleAll(targets, options, findings)
  const files = { targets, definitions }
  const toolReport = address ? await toolsAtEdge(address, files, signal) : await toolsOfProject(files, bundles, options)
  findings.push(...toolReport.findings)
  if (edge && toolReport.subjects) {
    const unmatched = patternProblems(edge, toolReport.subjects)
    findings.push(...findingsOf({ level: 'warning', topic: 'tools' }, unmatched))
  }
  if (project === undefined || !bundles) notChecked.push('what is deployed: this project has not been deployed yet')
  else {
    try {
      findings.push(...(await examineAccount(options, { bundles, definitions, targets, project })))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      notChecked.push(`what is deployed: ${error.message} ${error.hint}`.trim())
    }
  }
  findings.push(...findingsOf({ level: 'warning', topic: 'descriptions' }, await descriptionProblems(toolReport.tools)))
  return { findings, tools: toolReport.tools, notChecked, cpu }
}

function readFiles(root: string) {
  const definitions: DefinitionFile[] = []
  const problems = definitionFiles(root).flatMap((file) => {
    try {
      definitions.push(readDefinition(root, file))
      return []
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return [{ file, message: error.message, remedy: error.hint }]
    }
  })
  return { definitions, problems }
}

/** Returns the Workers whose tools no edge finds. */
function unusedProblems(root: string, unbound: readonly Target[]) {
  const workers = findWorkers(root)
  const { config } = workers.edge
  return [
    ...unbound.map(({ baseName, config: file }) => ({
      file,
      message: `${baseName} is not bound to the edge, so it is not used.`,
      remedy: `Add a [[services]] stanza for it to ${config}, or remove its folder.`,
    })),
    ...looseBindings(workers).map(([binding, service]) => ({
      file: config,
      message: `${service} is bound as ${binding}, so the edge does not find its tools.`,
      remedy: `Name the binding TOOL_${binding}.`,
    })),
  ]
}

/** Builds all Workers; one that does not build is a finding. */
async function bundleAll(targets: readonly Target[], { root, env }: DoctorOptions, findings: DoctorFinding[]) {
  const bundles: Bundle[] = []
  for (const target of targets) {
    try {
      bundles.push(await makeBundle(target, { root, env }))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const problem = { file: target.config, message: `${target.baseName} does not build.`, remedy: error.hint }
      findings.push(...findingsOf({ level: 'error', topic: 'project' }, [problem]))
    }
  }
  return bundles
}

/** Starts the Workers of the project. If they do not start, each is built by itself, which tells those that do not build. */
async function toolsOfProject(
  files: Parameters<typeof toolsHere>[1],
  bundles: readonly Bundle[] | undefined,
  options: DoctorOptions,
): Promise<FoundTools> {
  const { targets } = files
  if (bundles && bundles.length < targets.length) return { tools: [], findings: [] }
  const result = bundles ? await startBundles(bundles) : await startSources(options.root, targets)
  if (result.ok) return toolsHere(result, files)
  const unbuilt: DoctorFinding[] = []
  if (!bundles) await bundleAll(targets, options, unbuilt)
  const findings = findingsOf({ level: 'error', topic: 'project' }, result.problems)
  return { tools: [], findings: unbuilt.length > 0 ? unbuilt : findings }
}

/** Compares the project with its deployment. Throws a Failure if Cloudflare cannot be asked. */
async function examineAccount(
  { root, env }: DoctorOptions,
  {
    bundles,
    definitions,
    targets,
    project,
  }: {
    readonly project: string
    readonly bundles: readonly Bundle[]
    readonly definitions: readonly DefinitionFile[]
    readonly targets: readonly Target[]
  },
): Promise<readonly DoctorFinding[]> {
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) return []
  const api = await openAccount({ root, env, accountId: edge.settings.account_id })
  const { record } = await readRecord(api, edge.name)
  const steps = await planOf(api, { bundles, record, project })
  const missingFindings = findingsOf({ level: 'error', topic: 'drift' }, await missingResources(api, steps))
  if (!record) {
    const lost = lostRecordText(edge.name, await api.live(edge.name), project)
    if (lost === undefined) throw new Failure(`no deployment of ${edge.name} is recorded.`)
    const problem = { file: edge.config, message: lost, remedy: `Run ${shellCommand('deploy')} to begin a new one.` }
    return [...findingsOf({ level: 'error', topic: 'drift' }, [problem]), ...missingFindings]
  }
  const missing = steps.flatMap(({ bundle: { target }, live }) => {
    if (!live) return []
    return missingInAccount(target, { names: neededSecrets(target, definitions), present: secretNames(live) })
  })
  const live = steps.find(({ bundle }) => bundle.target.name === edge.name)?.live
  const reasons = live ? reasonsNotToAnswer(edge, new Set(secretNames(live))) : []
  return [
    ...findingsOf({ level: 'error', topic: 'secrets' }, [
      ...missing,
      ...reasons.map((message) => ({ file: edge.config, message, remedy: '' })),
    ]),
    ...missingFindings,
    ...drift({ record, steps, definitions, edge }),
  ]
}

/** Returns the names of the secrets that a Worker needs, as far as its configuration and the definitions tell. */
export function neededSecrets({ role, settings }: Target, definitions: readonly DefinitionFile[]): readonly string[] {
  const texts = Object.values(settings.vars).filter((value) => typeof value === 'string')
  // The hosts of definitions may be sent any secret that HTTP_TOOL_HOSTS names.
  const inTexts = texts.flatMap((text) => text.match(/\bSECRET_[A-Z0-9_]+/g) ?? [])
  const inDefinitions = role === 'edge' ? Object.values(hostsOf(definitions)).flat() : []
  return [...new Set([...(settings.secrets?.required ?? []), ...inTexts, ...inDefinitions])]
}

/** Returns the variables that a Worker on this machine has beside those of its configuration, of `.dev.vars` beside it. */
function variablesHere(root: string, { config }: Pick<Target, 'config'>): NodeJS.Dict<string> {
  const file = join(root, dirname(config), '.dev.vars')
  return existsSync(file) ? parseEnv(readTextFile(file)) : {}
}

/** Returns the secrets that a Worker on this machine would not have: those not in `.dev.vars` beside its configuration. */
export function missingHere(
  root: string,
  { config, role, baseName }: Target,
  { names, env }: { readonly names: readonly string[]; readonly env: NodeJS.ProcessEnv },
): readonly CheckProblem[] {
  const file = join(dirname(config), '.dev.vars')
  const variables = variablesHere(root, { config })
  const has = (name: string) => variables[name] || (role === 'edge' && env[name])
  return names.flatMap((name) =>
    has(name)
      ? []
      : [{ file, message: `${baseName} needs ${name} on this machine.`, remedy: `Add a line ${name}=… to the file.` }],
  )
}

/** Returns the secrets that a deployed Worker does not have. */
export function missingInAccount(
  { config, name }: Target,
  { names, present }: { readonly names: readonly string[]; readonly present: readonly string[] },
): readonly CheckProblem[] {
  return names.flatMap((secret) =>
    present.includes(secret)
      ? []
      : [
          {
            file: config,
            message: `The deployed Worker ${name} does not have the secret ${secret}.`,
            remedy: `Run npx wrangler secret put ${secret} -c ${config} --name ${name}.`,
          },
        ],
  )
}

export interface DeploymentState {
  readonly record: DeployRecord
  /** What is live of each Worker here. */
  readonly steps: readonly Step[]
  readonly definitions: readonly DefinitionFile[]
  /** The edge here. */
  readonly edge: Target
}

const DEPLOY = `Run ${shellCommand('deploy')}.`

/** Returns how the project, the record of its deployments and the account differ. */
export function drift({ record, steps, definitions, edge }: DeploymentState): readonly DoctorFinding[] {
  const { attempt, current } = record
  const error = (file: string, message: string, remedy: string) =>
    findingsOf({ level: 'error', topic: 'drift' }, [{ file, message, remedy }])
  const warning = (file: string, message: string, remedy: string) =>
    findingsOf({ level: 'warning', topic: 'drift' }, [{ file, message, remedy }])
  const findings: DoctorFinding[] = []
  if (attempt) {
    const remedy = `Run ${shellCommand(attempt.kind === 'rollback' ? 'rollback' : 'deploy --continue')}.`
    findings.push(...error(edge.config, `A ${attempt.kind} was begun at ${attempt.at} and is not finished.`, remedy))
  }
  // What a deployment that is not finished has put live is its own.
  const deployed = new Map(
    [...(current?.workers ?? []), ...(attempt?.live ?? [])].map((worker) => [worker.name, worker]),
  )
  for (const { bundle, live, isCurrent, foreign } of steps) {
    const { name, config } = bundle.target
    const worker = deployed.get(name)
    if (!worker) findings.push(...(attempt ? [] : warning(config, `${name} is not deployed.`, DEPLOY)))
    else if (!live) findings.push(...error(config, `${name} was deployed, but the account has no such Worker.`, DEPLOY))
    else if (foreign.length > 0) {
      const message = `The account runs a version of ${name} that edgecall did not deploy.`
      findings.push(...warning(config, message, `Run ${shellCommand('deploy')} to replace it.`))
    } else if (!isCurrent && !attempt && worker.rollout === undefined) {
      const message = `The account runs another version of ${name} than the one that was deployed at ${current?.at}.`
      findings.push(...warning(config, message, DEPLOY))
    } else if (worker.hash !== bundle.hash) {
      findings.push(...warning(config, `${name} here is not what was deployed at ${current?.at}.`, DEPLOY))
    }
  }
  for (const name of deployed.keys()) {
    if (steps.some(({ bundle }) => bundle.target.name === name)) continue
    const remedy = `Remove it if nothing uses it: npx wrangler delete --name ${name}.`
    findings.push(...warning(edge.config, `${name} is deployed, but no Worker here has that name.`, remedy))
  }
  const stored = current?.definitions ?? []
  for (const { file, name } of changedDefinitions(definitions, stored)) {
    const remedy = `Run ${shellCommand('deploy --only definitions')}.`
    findings.push(...warning(file, `${name} is not stored at the edge as it is here.`, remedy))
  }
  for (const { name } of stored) {
    if (definitions.some((each) => each.name === name)) continue
    const message = `${name} is stored at the edge, but there is no file of it.`
    findings.push(...warning(`tools/definitions/${name}.json`, message, `Run ${shellCommand(`remove ${name}`)}.`))
  }
  return findings
}
