import type { CheckProblem } from '../check/problem.ts'
import type { AccountApi, LiveVersion } from './account-api.ts'
import type { Bundle } from './bundle.ts'
import type { DeployedWorker, DeployRecord } from './record.ts'
import { isOurs } from './upload.ts'

/** What is to be done about a Worker. */
export interface Step {
  readonly bundle: Bundle
  /** The versions that requests reach now; undefined if the account has no such Worker. */
  readonly live: readonly LiveVersion[] | undefined
  /** Whether all requests reach the code that a deployment left, as the record says. */
  readonly isCurrent: boolean
  /** The live versions of a Worker of this project that somebody else has made. */
  readonly foreign: readonly LiveVersion[]
  /** The Worker as it is live already, if it has this bundle. */
  readonly done?: DeployedWorker
}

interface PlanOptions {
  readonly bundles: readonly Bundle[]
  readonly record: DeployRecord | undefined
  /** The id of the project, if it has one. */
  readonly project: string | undefined
}

/**
 * Reads what is live of each bundle. Nothing is to be done about a Worker if the record says that its bundle was
 * deployed, and the account still has that version, or its code with other secrets: an upload alone is not enough,
 * since addresses are set after it.
 */
export async function planOf(api: AccountApi, { bundles, record, project }: PlanOptions): Promise<readonly Step[]> {
  const deployed = new Map(
    [...(record?.current?.workers ?? []), ...(record?.attempt?.live ?? [])].map((worker) => [worker.name, worker]),
  )
  return Promise.all(
    bundles.map(async (bundle): Promise<Step> => {
      const { name } = bundle.target
      const live = await api.live(name)
      const worker = deployed.get(name)
      if (!worker || !live) return { bundle, live, isCurrent: false, foreign: [] }
      const unknown = live.filter(({ id, message }) => {
        const isRecorded = id === worker.version || id === worker.rollout?.version
        return !isRecorded && (project === undefined || !isOurs(message, project))
      })
      const [secretChange] = unknown.filter(({ trigger }) => trigger === 'secret')
      const recorded = secretChange && (await api.version(name, worker.version))
      const isOurCode = ({ trigger, etag }: LiveVersion) => trigger === 'secret' && etag === recorded?.etag
      const foreign = unknown.filter((version) => !isOurCode(version))
      const [only] = live
      const isCurrent = only !== undefined && live.length === 1 && (only.id === worker.version || isOurCode(only))
      const step = { bundle, live, isCurrent, foreign }
      if (!isCurrent || worker.hash !== bundle.hash) return step
      return { ...step, done: only.id === worker.version ? worker : { ...worker, version: only.id } }
    }),
  )
}

/**
 * Returns the Workers of the account that are not of this project, although they have the names of its Workers: to
 * deploy would overwrite them. `adopted` are those that may be.
 */
export function strangers(
  steps: readonly Step[],
  { project, record, adopted }: { project: string; record: DeployRecord | undefined; adopted: readonly string[] },
): readonly CheckProblem[] {
  const recordedWorkers = new Set(record?.current?.workers.map(({ name }) => name))
  return steps.flatMap(({ bundle: { target }, live = [] }) => {
    const { name, config } = target
    if (live.length === 0 || recordedWorkers.has(name) || adopted.includes(name)) return []
    if (live.every(({ message }) => isOurs(message, project))) return []
    return [
      {
        file: config,
        message: `The account has a Worker ${name} that is not of this project.`,
        remedy: `Set "edgecall": { "prefix": "…" } in package.json for names of your own, or overwrite it with --adopt ${name}.`,
      },
    ]
  })
}

/** Says which versions somebody else has put live, in a sentence for each Worker that has any. */
export function foreignText({ bundle, foreign }: Step): string | undefined {
  const [version] = foreign
  if (!version) return undefined
  const { id, author, at } = version
  const origin = `${author === '' ? '' : ` of ${author}`}${at === '' ? '' : ` at ${at}`}`
  return `${bundle.target.name}: the account runs version ${id}${origin}, which this project did not deploy.`
}

/** Returns the names of the secrets that a live Worker has. */
export function secretNames(live: Step['live']): string[] {
  const latest = live?.at(-1)?.bindings ?? []
  return latest.flatMap(({ name, type }) => (type === 'secret_text' ? name : []))
}
