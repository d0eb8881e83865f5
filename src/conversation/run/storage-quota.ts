import type { ConversationOwner, Refusal } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import type { Store } from '../store/store.ts'
import { shardOf } from '../../contract/placement.ts'
import { refuseQuota } from './cancel-run.ts'

/** How long a request waits for the directory, in milliseconds. */
const ROOM_MS = 2000

/** Reports the conversation's size to the tenant's directory, and notes whether the tenant has room for more. */
export async function reportGrowth(store: Store, { directories, config }: Setup): Promise<void> {
  const growth = store.growth()
  if (!growth) return
  const { tenant, id, bytes, until } = growth
  const { storedBytes } = await directories.getByName(tenant).resize(id, bytes, until, store.shard())
  if (store.life() !== 'open') return
  store.transaction(() => {
    store.setMeta('bytes', bytes)
    store.setMeta('full', storedBytes >= config.quotas.storedBytes)
  })
}

/**
 * Refuses a request that would store more if the tenant's conversations store too much. The directory is asked again
 * only by a conversation that it has told so; if it does not answer, the request is accepted.
 */
export async function storageRefusal(
  store: Store,
  { directories, config, report }: Setup,
): Promise<Refusal | undefined> {
  const owner = store.meta('owner')
  if (!store.isFull() || !isObject(owner)) return undefined
  const { tenant, id } = owner
  let used: number
  try {
    const room = await withDeadline(ROOM_MS, directories.getByName(String(tenant)).room(String(id)))
    used = room.storedBytes
  } catch (error) {
    report({ event: 'quota.unknown', tenant, detail: messageOf(error) })
    return undefined
  }
  const { storedBytes: limit } = config.quotas
  if (used >= limit) return refuseQuota({ quota: 'storedBytes', used, limit })
  if (store.life() === 'open') store.setMeta('full', false)
  return undefined
}

/**
 * Counts the bytes of a conversation that is not listed yet until a time, in epoch milliseconds. Refuses them if the tenant
 * then stores too much; if the directory does not answer, they are accepted.
 */
export async function countUnlisted(
  { directories, config, report }: Setup,
  { tenant, id }: ConversationOwner,
  bytes: number,
  until: number,
): Promise<Refusal | undefined> {
  const { storedBytes: limit } = config.quotas
  try {
    const shard = shardOf(id, config.directoryShards)
    const directory = directories.getByName(tenant)
    const { storedBytes: used } = await withDeadline(ROOM_MS, directory.resize(id, bytes, until, shard))
    return bytes > 0 && used >= limit ? refuseQuota({ quota: 'storedBytes', used, limit }) : undefined
  } catch (error) {
    report({ event: 'quota.unknown', tenant, detail: messageOf(error) })
    return undefined
  }
}
