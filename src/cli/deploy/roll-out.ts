import { Failure } from '../failure.ts'
import type { Step } from './plan.ts'
import type { DeployedWorker } from './record.ts'
import { isUnreadable, storageMark } from './storage.ts'
import { shareTraffic, tagOf, type Upload, uploadVersion } from './upload.ts'

/**
 * Gives a new version of a Worker a part of the requests; the rest stays with the version that the last deployment
 * left. The version is uploaded once: further calls change the percentage. With 100 it takes the place of the old one.
 * Throws a Failure for a Worker that was never deployed.
 */
export async function rollOut(
  upload: Upload,
  {
    step,
    before,
    percent,
  }: { readonly step: Step; readonly before: DeployedWorker | undefined; readonly percent: number },
): Promise<DeployedWorker> {
  const { bundle, live = [] } = step
  const { name } = bundle.target
  const { hash, size, gzip } = bundle
  requireChange(step, before)
  const uploaded = live.find(({ tag }) => tag === tagOf(hash))?.id
  const version = uploaded ?? (await uploadVersion(upload))
  const shares = percent === 100 ? { [version]: 100 } : { [before.version]: 100 - percent, [version]: percent }
  await shareTraffic(upload, { worker: name, shares, message: upload.message })
  const { rollout: _, ...rest } = before
  const mark = storageMark(bundle.target)
  return percent === 100
    ? { ...rest, version, hash, size, gzip, ...mark }
    : { ...rest, rollout: { version, hash, percent, ...mark } }
}

/**
 * Throws a Failure if a Worker cannot be rolled out, since it was never deployed, has not changed, or stores what its live
 * version cannot read.
 */
export function requireChange(
  { bundle, live = [] }: Step,
  before: DeployedWorker | undefined,
): asserts before is DeployedWorker {
  const { name } = bundle.target
  if (!before || live.length === 0)
    throw new Failure(
      `${name} has no earlier version to which the other requests could go.`,
      'Deploy it first without --gradual.',
    )
  if (before.hash === bundle.hash)
    throw new Failure(`${name} has not changed since it was deployed.`, 'There is nothing to roll out.')
  if (isUnreadable(storageMark(bundle.target), before))
    throw new Failure(
      `${name} stores what the version before cannot read, and both would serve the same objects.`,
      'Deploy it without --gradual.',
    )
}

/** Reads the value of `--gradual`. Throws a Failure unless it is a whole number from 1 to 100. */
export function percentOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const percent = Number(text.replace(/ ?%$/, ''))
  if (Number.isInteger(percent) && percent >= 1 && percent <= 100) return percent
  throw new Failure(`--gradual ${text}: expected a whole number of percent, 1 to 100.`)
}
