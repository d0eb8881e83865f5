import { canonicalJson, isObject } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { Failure } from '../failure.ts'
import type { AccountApi, LiveVersion } from './account-api.ts'
import { isOurs } from './upload.ts'

/** What tells whether the version before can read what the objects of a Worker have stored. */
export interface StorageMark {
  /** The generation of what the package stores; absent if the Worker has no objects. Before it was recorded, it was 1. */
  readonly storage?: number
  /** The tag of the last migration of its objects, empty if it has none. Absent before it was recorded. */
  readonly migration?: string
}

/** A Worker as a deployment left it. */
export interface DeployedWorker extends StorageMark {
  readonly name: string
  readonly role: 'tool' | 'edge'
  /** The id of its version at Cloudflare. */
  readonly version: string
  /** SHA-256 of its modules and settings. */
  readonly hash: string
  readonly size: number
  readonly gzip: number
  /** Where it is reached, if it has an address. */
  readonly address?: string
  /** The tools that it describes; the next deployment is compared with them. */
  readonly tools: readonly ToolDefinition[]
  /** A newer version that gets a part of the requests. */
  readonly rollout?: Rollout
}

export interface Rollout extends StorageMark {
  readonly version: string
  readonly hash: string
  readonly percent: number
}

/** A stored definition as a deployment left it. */
export interface DeployedDefinition {
  readonly name: string
  /** SHA-256 of the file's definition. */
  readonly digest: string
  /** The hash of the version at the edge, by which it is rolled back. */
  readonly hash: string
}

/** What a finished deployment left in the account: the manifest. */
export interface Manifest {
  readonly id: string
  /** ISO 8601. */
  readonly at: string
  readonly environment: string
  readonly workers: readonly DeployedWorker[]
  readonly definitions: readonly DeployedDefinition[]
}

/** A deployment or rollback that has begun and not finished. */
export interface DeployAttempt {
  readonly kind: 'deploy' | 'rollback'
  readonly id: string
  readonly at: string
  /** The hash of each Worker that is to be live in the end; for a rollback, of the manifest. */
  readonly workers: Readonly<Record<string, string>>
  /** The Workers that were deployed already, triggers and all. */
  readonly live: readonly DeployedWorker[]
  /** The names of all definitions that it stores, or may have stored although nothing tells so. */
  readonly writes: readonly string[]
  /** The definitions that were stored already. */
  readonly definitions: readonly DeployedDefinition[]
  /** What each Worker stores that it puts live. */
  readonly marks?: Readonly<Record<string, StorageMark>>
  /** The manifest that a rollback restores. */
  readonly manifest?: string
  /** What `--only` and `--gradual` were, so that `--continue` finishes that and no more. */
  readonly only?: string
  readonly gradual?: number
  /** The names of the secrets that it sets, by the Worker's name in its configuration. */
  readonly secrets?: Readonly<Record<string, readonly string[]>>
}

/** What is known of the deployments of one edge. It is kept in the account, for every machine that deploys. */
export interface DeployRecord {
  readonly format: 1
  /** The project that the Workers belong to. */
  readonly project: string
  readonly current?: Manifest
  /** The manifests before the current one, newest first. */
  readonly previous: readonly Manifest[]
  readonly attempt?: DeployAttempt
}

/** How many manifests are kept, beside the current one. */
const MOST_PREVIOUS = 10
const KEY = 'deployments'

/** Reads and writes the record of an edge: a key in a KV namespace named after it. */
export interface RecordStore {
  /** The id of the namespace; undefined if it has not been created. */
  readonly namespace: string | undefined
  readonly record: DeployRecord | undefined
  write(record: DeployRecord): Promise<void>
}

/** The title of the namespace with the record of an edge. */
export function recordTitle(edge: string): string {
  return `${edge}-deployments`
}

/** Reads the record of an edge. Throws a Failure if it cannot be read, or was written in another format. */
export async function readRecord(api: AccountApi, edge: string): Promise<RecordStore> {
  const namespace = await api.findNamespace(recordTitle(edge))
  const text = namespace === undefined ? undefined : await api.readValue(namespace, KEY)
  return {
    namespace,
    record: text === undefined ? undefined : parseRecord(text, edge),
    write: async (record) => {
      if (namespace === undefined) throw new Failure(`The KV namespace ${recordTitle(edge)} does not exist.`)
      const text = JSON.stringify(record)
      try {
        await api.writeValue(namespace, KEY, text)
      } catch (error) {
        // The write may have taken effect although its answer was lost.
        const stored = await api.readValue(namespace, KEY).catch(() => undefined)
        if (stored !== text) throw error
      }
    },
  }
}

/**
 * Says that the record of an edge is gone, if the live versions of the edge show that this project has deployed it;
 * otherwise there is none yet.
 */
export function lostRecordText(
  edge: string,
  live: readonly LiveVersion[] = [],
  project: string | undefined,
): string | undefined {
  if (project === undefined || !live.some(({ message }) => isOurs(message, project))) return undefined
  return `The record of deployments (the KV namespace ${recordTitle(edge)}) is gone, although this project has deployed ${edge}. Without it, no earlier deployment can be restored, and the tools are not compared with those that are live.`
}

function parseRecord(text: string, edge: string): DeployRecord {
  const value: unknown = JSON.parse(text)
  if (isRecord(value)) return value
  throw new Failure(
    `The record of deployments in the KV namespace ${recordTitle(edge)} has another format.`,
    'Deploy with the version of edgecall that wrote it, or a newer one.',
  )
}

/** Only what tells the format is checked: the record is written by these commands alone. */
function isRecord(value: unknown): value is DeployRecord {
  return isObject(value) && value['format'] === 1 && Array.isArray(value['previous'])
}

/**
 * Returns the record after a deployment that has finished. One that changed no code, share or definition takes the
 * place of the last one, since a rollback would find no difference.
 */
export function finished(record: DeployRecord, manifest: Manifest): DeployRecord {
  const { attempt: _, current, previous, ...rest } = record
  const earlier = current && !isSame(current, manifest) ? [current] : []
  return { ...rest, current: manifest, previous: [...earlier, ...previous].slice(0, MOST_PREVIOUS) }
}

/** Returns whether two manifests have the same code, shares of requests and definitions. */
export function isSame(one: Manifest, other: Manifest): boolean {
  return contentOf(one) === contentOf(other)
}

function contentOf({ workers, definitions }: Manifest): string {
  return canonicalJson({
    workers: Object.fromEntries(
      workers.map(({ name, hash, rollout }) => [name, [hash, rollout?.hash ?? '', rollout?.percent ?? 0]]),
    ),
    definitions: Object.fromEntries(definitions.map(({ name, hash }) => [name, hash])),
  })
}

/** Returns the record after a rollback to one of its manifests, which is the current one from then on. */
export function restored(record: DeployRecord, manifest: Manifest): DeployRecord {
  const { attempt: _, current, ...rest } = record
  if (current?.id === manifest.id) return { ...rest, current }
  const index = record.previous.findIndex(({ id }) => id === manifest.id)
  return { ...rest, current: manifest, previous: record.previous.slice(index + 1) }
}
