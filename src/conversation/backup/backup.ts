import type { BackupReply, RestoreRequest } from '../../contract/backup.ts'
import type { BackupPorts } from '../../contract/backup-ports.ts'
import type { Refusal, Reply } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import type { ConversationBackups } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { DELETED, refusalOf, UNKNOWN } from '../run/cancel-run.ts'
import { copyTables, faultOfCopy, writeTables } from './copy.ts'
import { takeOver } from './take-over.ts'

/** Copies a conversation, restores one from a copy, or rewinds it to an earlier time. */
export const backUpConversation: ConversationBackups = async (request, ports) => {
  if (request.do === 'copy') return copy(ports)
  return request.do === 'restore' ? restore(request, ports) : rewind(request.at, ports)
}

function copy({ ctx: { storage }, store, life }: BackupPorts): Reply<BackupReply> {
  if (life() !== 'open') return life() === 'deleted' ? DELETED : UNKNOWN
  const owner = store.meta('owner')
  const bytes = copyTables(storage, isObject(owner) ? String(owner['id']) : '')
  if (!bytes) return refusalOf('copy_too_large', 'A copy of this conversation would have more than 30 MiB.')
  return { ok: true, copy: bytes }
}

async function restore(request: RestoreRequest, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { ctx, store, life, alarms } = ports
  const { caller, id, copy, isSigned } = request
  const before = life()
  if (before === 'open') return refusalOf('conversation_exists', 'A conversation with this id exists.')
  const fault = faultOfCopy(copy)
  if (fault !== undefined) return invalidCopy(fault)
  if (before === 'deleted') await store.deleteAll()
  let listing: Promise<void>
  try {
    listing = alarms.create({ tenant: caller.tenant, id }, () => {
      writeTables(ctx.storage, copy)
      if (!isSigned) takeOver(ctx.storage, { caller, id, limits: ports.limits })
      // The original may still exist. Its unfinished runs belong to it, and nobody here has been asked about their calls.
      store.endCopiedRuns()
      alarms.touch()
    })
  } catch (error) {
    if (before === 'deleted') await store.deleteForGood()
    return invalidCopy(messageOf(error))
  }
  await alarms.restore()
  await listing
  return { ok: true }
}

function invalidCopy(fault: string): Refusal {
  return refusalOf('invalid_copy', `The copy cannot be restored: ${fault}.`)
}

/** How long a reply may take to leave the object, in milliseconds. */
const REPLY_MS = 100

/**
 * Cloudflare stores the last 30 days
 * (https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#pitr-point-in-time-recovery-api); a local
 * workerd stores nothing.
 */
async function rewind(at: number, { ctx, life, cancelAll }: BackupPorts): Promise<Reply<BackupReply>> {
  if (life() === 'none') return UNKNOWN
  try {
    const bookmark = await ctx.storage.getBookmarkForTime(at)
    if (life() === 'open') await cancelAll(at)
    await ctx.storage.onNextSessionRestoreBookmark(bookmark)
  } catch (error) {
    return refusalOf('no_recovery', `This conversation cannot be taken back: ${messageOf(error)}`)
  }
  setTimeout(() => ctx.abort('The conversation is taken back to an earlier time.'), REPLY_MS)
  return { ok: true }
}
