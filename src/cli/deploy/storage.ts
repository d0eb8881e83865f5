import { STORAGE_GENERATION } from '../../contract/lazy-schema.ts'
import type { Target } from '../check/target.ts'
import { shellCommand } from '../command/shell.ts'
import { Failure } from '../failure.ts'
import type { DeployRecord, Manifest, StorageMark } from './record.ts'

/** Returns the mark of a Worker as it is about to be deployed. */
export function storageMark({ settings }: Target): StorageMark {
  const migration = settings.migrations?.at(-1)?.tag
  return migration === undefined ? { migration: '' } : { storage: STORAGE_GENERATION, migration }
}

/** Returns whether a version stores what another one cannot read. */
export function isUnreadable(stored: StorageMark, reader: StorageMark): boolean {
  return (stored.storage ?? 1) > (reader.storage ?? 1)
}

/**
 * Throws a Failure if a manifest cannot be restored: if Cloudflare refuses it, since objects were migrated meanwhile; or,
 * unless it is forced, if its Workers cannot read what has been stored since. `isLive`: the Workers that need not be restored.
 */
export function requireReadable(
  { current, attempt }: DeployRecord,
  goal: Manifest,
  { isLive, force }: { readonly isLive: (worker: string) => boolean; readonly force: boolean },
): void {
  // A rollback that is being finished was allowed as it began.
  if (attempt?.kind === 'rollback') return
  for (const worker of goal.workers) {
    const { name } = worker
    if (isLive(name)) continue
    const versions = [...(current?.workers ?? []), ...(attempt?.live ?? [])].filter((each) => each.name === name)
    const marks = [...versions, ...versions.flatMap(({ rollout }) => rollout ?? []), attempt?.marks?.[name] ?? {}]
    const migration = marks.find((mark) => (mark.migration ?? worker.migration) !== worker.migration)?.migration
    if (worker.migration !== undefined && migration !== undefined)
      throw new Failure(
        `${name} cannot be rolled back: its Durable Objects were migrated since (${migration}), and Cloudflare restores no version from before that.`,
        `Take the earlier sources, keep the [[migrations]] of today in them, and run \`${shellCommand('deploy')}\`.`,
      )
    if (!force && marks.some((mark) => isUnreadable(mark, worker)))
      throw new Failure(
        `${name} cannot be rolled back: the earlier version cannot read what was stored since. CHANGELOG.md of edgecall says what has changed.`,
        `Correct what is wrong and run \`${shellCommand('deploy')}\`. To restore it all the same, although its objects may fail: \`${shellCommand('rollback --force')}\`.`,
      )
  }
}
