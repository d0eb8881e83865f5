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
  /** The Worker as it is live already, if it has this bundle. */
  readonly done?: DeployedWorker
}

/**
 * Reads what is live of each bundle. Nothing is to be done about a Worker if the record says that its bundle was
 * deployed, and the account still has that version: an upload alone is not enough, since addresses are set after it.
 */
export async function planOf(
  api: AccountApi,
  { bundles, record }: { readonly bundles: readonly Bundle[]; readonly record: DeployRecord | undefined },
): Promise<readonly Step[]> {
  const deployed = new Map(
    [...(record?.current?.workers ?? []), ...(record?.attempt?.live ?? [])].map((worker) => [worker.name, worker]),
  )
  return Promise.all(
    bundles.map(async (bundle) => {
      const live = await api.live(bundle.target.name)
      const worker = deployed.get(bundle.target.name)
      const isLive = live?.length === 1 && live[0]?.id === worker?.version
      const done = isLive && worker?.hash === bundle.hash ? worker : undefined
      return { bundle, live, ...(done && { done }) }
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

/** Returns the names of the secrets that a live Worker has. */
export function secretNames(live: Step['live']): string[] {
  const latest = live?.at(-1)?.bindings ?? []
  return latest.flatMap(({ name, type }) => (type === 'secret_text' ? name : []))
}
