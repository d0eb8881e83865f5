import { shellCommand } from '../command/shell.ts'
import type { Terminal } from '../command/terminal.ts'
import { readTargets } from '../check/target.ts'
import { failureOf } from '../check/problem.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { type LiveVersion, openAccount } from './account-api.ts'
import { removeDefinition, restoreDefinition } from './definitions.ts'
import { manifestText } from './manifest-text.ts'
import { readIdentity } from './project.ts'
import { type DeployRecord, isSame, type Manifest, readRecord, restored } from './record.ts'
import { requireReadable } from './storage.ts'
import { isOurs, shareTraffic, uploadMessage } from './upload.ts'

export interface RollbackOptions {
  readonly root: string
  /** Provides EDGECALL_URL and EDGECALL_KEY, and the variables that wrangler reads. */
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly environment: string
  /** Restore versions that cannot read what was stored since. */
  readonly force: boolean
}

/**
 * Restores the last manifest that differs from the current one, or the current one if a deployment has stopped half-way:
 * first the definitions, then the edge, then the tool Workers, the reverse of a deployment. A rollback that stops half-way is
 * finished by the next one. Throws a Failure, and changes nothing, if there is no manifest to restore, or its Workers could
 * not read what was stored since.
 */
export async function rollback({ root, env, terminal, environment, force }: RollbackOptions): Promise<void> {
  const { prefix } = readIdentity(root)
  const { targets, problems } = await readTargets({ root, environment, prefix })
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) throw failureOf(problems)
  const api = await openAccount({ root, env, accountId: edge.settings.account_id })
  const store = await readRecord(api, edge.name)
  const { record } = store
  const goal = record && goalOf(record)
  if (!record || !goal) {
    throw new Failure(
      'There is no earlier deployment to restore.',
      `Correct the sources and run \`${shellCommand('deploy')}\`.`,
    )
  }
  const lives = await Promise.all(
    goal.workers.map(async (worker) => isLive((await api.live(worker.name)) ?? [], worker)),
  )
  const liveWorkers = new Set(goal.workers.flatMap(({ name }, at) => (lives[at] ? [name] : [])))
  requireReadable(record, goal, { isLive: (name) => liveWorkers.has(name), force })
  const { project, attempt } = record
  const hashes = Object.fromEntries(goal.workers.map(({ name, hash }) => [name, hash]))
  const at = new Date().toISOString()
  const { definitions = [], writes = [] } = attempt ?? {}
  await store.write({
    ...record,
    attempt: { kind: 'rollback', id: goal.id, at, workers: hashes, live: [], writes, definitions, manifest: goal.id },
  })
  const address = env['EDGECALL_URL'] || goal.workers.find(({ role }) => role === 'edge')?.address
  const notRestored = await restoreDefinitions(record, goal, {
    ...(address && { edge: { url: address.replace(/\/+$/, ''), key: env['EDGECALL_KEY'] || undefined } }),
  })
  if (notRestored.length > 0) {
    terminal.print(`Definitions left unchanged, because EDGECALL_KEY is not set: ${notRestored.join(', ')}\n`)
  }
  const message = uploadMessage(project, goal.id)
  try {
    for (const worker of goal.workers.toReversed()) {
      const live = (await api.live(worker.name)) ?? []
      if (isLive(live, worker)) continue
      const foreign = live.find((version) => !isOurs(version.message, project) && version.trigger !== 'secret')
      if (foreign)
        terminal.print(`${worker.name}: version ${foreign.id}, which this project did not deploy, is replaced\n`)
      await shareTraffic({ root, env }, { worker: worker.name, shares: sharesOf(worker), message })
      terminal.print(`${worker.name}: restored, version ${worker.version}\n`)
    }
    await store.write(restored(record, goal))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.message, `Some Workers may not be restored yet. Run \`${shellCommand('rollback')}\` again.`)
  }
  terminal.print(manifestText(goal))
  terminal.emit({ manifest: goal, definitionsNotRestored: notRestored })
}

function goalOf({ attempt, current, previous }: DeployRecord): Manifest | undefined {
  const all = [...(current ? [current] : []), ...previous]
  if (attempt?.kind === 'rollback') return all.find(({ id }) => id === attempt.manifest)
  return attempt ? current : previous.find((manifest) => current && !isSame(manifest, current))
}

function sharesOf({ version, rollout }: Manifest['workers'][number]): Record<string, number> {
  return rollout ? { [version]: 100 - rollout.percent, [rollout.version]: rollout.percent } : { [version]: 100 }
}

function isLive(live: readonly LiveVersion[], worker: Manifest['workers'][number]): boolean {
  const shares = Object.entries(sharesOf(worker))
  return (
    live.length === shares.length &&
    shares.every(([version, percent]) => live.some((each) => each.id === version && each.percent === percent))
  )
}

/** Restores the definitions of a manifest. Returns the names of those that would need a key. */
async function restoreDefinitions(
  { current, attempt }: DeployRecord,
  goal: Manifest,
  { edge }: { readonly edge?: EdgeAddress },
): Promise<readonly string[]> {
  const now = new Map(
    [...(current?.definitions ?? []), ...(attempt?.definitions ?? [])].map((each) => [each.name, each]),
  )
  const unsure = new Set(attempt?.writes)
  const changed = goal.definitions.filter(({ name, hash }) => unsure.has(name) || now.get(name)?.hash !== hash)
  const added = [...new Set([...now.keys(), ...unsure])].filter(
    (name) => !goal.definitions.some((each) => each.name === name),
  )
  if (!edge || edge.key === undefined) return [...changed.map(({ name }) => name), ...added]
  for (const definition of changed) await restoreDefinition(edge, definition)
  for (const name of added) await removeDefinition(edge, name)
  return []
}
