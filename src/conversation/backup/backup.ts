import { type BackupReply, type CopyRequest, MOST_PART_BYTES, type RestoreRequest } from '../../contract/backup.ts'
import { releaseBytes } from '../../contract/byte-buffer.ts'
import type { BackupPorts, UnfinishedRestore } from '../../contract/backup-ports.ts'
import type { Refusal, Reply } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import type { ConversationBackups } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { signCopy } from '../../wire/client/copy-signature.ts'
import { refusalOf, refuseGone, UNKNOWN } from '../run/cancel-run.ts'
import { copyTables, faultOfCopy, writeTables } from './copy.ts'
import { type CopiedPart, copyPart, holds, markOf, PART_BYTES } from './copy-part.ts'
import { type PartHead, partHead, writePart } from './read-part.ts'
import { takeOver, takeOverPart } from './take-over.ts'

/** How long a conversation is kept that has been made of some parts of a copy, if no other comes, in milliseconds. */
const UNFINISHED_MS = 24 * 60 * 60 * 1000

/** Copies a conversation, restores one from a copy, or rewinds it to an earlier time. */
export const backUpConversation: ConversationBackups = async (request, ports) => {
  if (request.do === 'restore') return restore(request, ports)
  if (request.do === 'rewind') return rewind(request.at, ports)
  const { store, life } = ports
  if (life() !== 'open') return life() === 'deleted' ? refuseGone(store) : UNKNOWN
  return request.from === undefined ? copyWhole(ports) : copyFrom(request, ports)
}

function copyWhole({ ctx, store }: BackupPorts): Reply<BackupReply> {
  const copy = copyTables(ctx.storage, ownerOf(store).id, MOST_PART_BYTES)
  if (copy) return { ok: true, copy }
  return refusalOf('copy_too_large', 'A copy of this conversation would have more than 30 MiB.')
}

async function copyFrom({ from, subject }: CopyRequest, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { ctx, store, signer } = ports
  const { id, created } = ownerOf(store)
  if (from !== 'start' && !holds(ctx.storage.sql, store, from.mark, created)) return CHANGED
  const part = from === 'start' ? firstPart(ports) : copyPart(ctx.storage, id, from)
  if (!part) return CHANGED
  const { body, lastLine, next } = await signCopy(part, subject, signer)
  return { ok: true, stream: streamOf(body, lastLine), ...(next && { next }) }
}

function firstPart({ ctx: { storage }, store }: BackupPorts): CopiedPart | undefined {
  const { id, created } = ownerOf(store)
  const copy = copyTables(storage, id, PART_BYTES)
  if (copy) return { copy }
  const mark = markOf(storage.sql, store, created)
  return copyPart(storage, id, { mark, part: 1, digest: '', table: 'meta', after: [], texts: 0 })
}

function ownerOf(store: BackupPorts['store']): { readonly id: string; readonly created: number } {
  const owner = store.meta('owner')
  const { id = '', created = 0 } = isObject(owner) ? owner : {}
  return { id: String(id), created: Number(created) }
}

/** Makes a stream of pieces, whose memory is released as each was read. */
function streamOf(...pieces: Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array> {
  // Only workerd has copied what a reader gets.
  if (typeof IdentityTransformStream === 'undefined') return new Blob(pieces).stream()
  const { readable, writable } = new IdentityTransformStream()
  const write = async () => {
    const writer = writable.getWriter()
    for (const piece of pieces) await writer.write(piece).finally(() => releaseBytes(piece))
    await writer.close()
  }
  // The reader may go away.
  write().catch(() => {})
  return readable
}

const CHANGED = refusalOf(
  'conversation_changed',
  'A turn of this conversation was replaced, or its texts were rewritten, since this copy began. Begin it again.',
)

/** Makes a conversation of a copy, or adds a part of a copy to one that nobody can use before the last part. */
async function restore(request: RestoreRequest, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { copy, digest } = request
  try {
    const head = partHead(copy)
    if (head && digest !== undefined) return await restorePart({ ...request, digest }, head, ports)
    return await restoreWhole(request, ports)
  } finally {
    releaseBytes(copy)
  }
}

async function restoreWhole(request: RestoreRequest, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { ctx, store, life, alarms } = ports
  const { caller, id, copy, isSigned } = request
  const before = life()
  if (before === 'open') return EXISTS
  const fault = faultOfCopy(copy)
  if (fault !== undefined) return invalidCopy(fault)
  const wasDeleted = store.restoring()?.wasDeleted ?? before === 'deleted'
  if (before === 'deleted') await store.deleteAll()
  let listing: Promise<void>
  try {
    listing = alarms.create({ tenant: caller.tenant, id }, () => {
      const rows = writeTables(ctx.storage, copy)
      if (!isSigned) takeOver(ctx.storage, { caller, id, limits: ports.limits }, rows)
      // The original may still exist. Its unfinished runs belong to it, and nobody here has been asked about their calls.
      store.endCopiedRuns()
      alarms.touch()
    })
  } catch (error) {
    if (wasDeleted) await store.deleteForGood()
    return invalidCopy(messageOf(error))
  }
  await alarms.restore()
  await listing
  return { ok: true }
}

const EXISTS = refusalOf('conversation_exists', 'A conversation with this id exists.')

type PartRequest = RestoreRequest & { readonly digest: string }

async function restorePart(request: PartRequest, head: PartHead, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { store, ctx, alarms } = ports
  const { caller, id, copy, digest, isLast = false } = request
  const owner = { tenant: caller.tenant, id }
  const reply = knownReply(request, head, ports)
  if (reply) return reply
  const until = Date.now() + UNFINISHED_MS
  const full = await ports.countBytes(owner, ctx.storage.sql.databaseSize + copy.byteLength, until)
  if (full) return full
  // Another request may have brought it meanwhile.
  const knownNow = knownReply(request, head, ports)
  if (knownNow) return knownNow
  const wasDeleted = store.restoring()?.wasDeleted ?? ports.life() === 'deleted'
  // Of another copy that was begun, nothing remains.
  if (head.part === 1 && ports.life() === 'deleted') await store.deleteAll()
  if (head.part === 1 && ports.life() !== 'none') return outOfOrder(store.restoring())
  const earlier = store.restoring()
  const next = () => {
    const remainder = writeCopied(request, earlier, ports)
    store.setMeta('restore', {
      ...{ part: head.part, last: digest, first: earlier?.first ?? digest },
      ...{ isSigned: earlier?.isSigned ?? request.isSigned, texts: remainder.texts, isOpen: remainder.isOpen },
      ...{ wasDeleted, until },
    } satisfies UnfinishedRestore)
    // Also for earlier versions, to which it otherwise would be a conversation as any other.
    store.setMeta('deleted', true)
  }
  try {
    if (!isLast) {
      if (earlier) store.transaction(next)
      else store.create(next)
      await ctx.storage.setAlarm(until)
      return { ok: true, part: head.part, isSigned: earlier?.isSigned ?? request.isSigned }
    }
    const listing = alarms.create(owner, () => {
      const { texts, isOpen } = writeCopied(request, earlier, ports)
      if (texts.length > 0 || isOpen) throw new Error('its last text belongs to no row')
      store.setMeta('restore', { last: digest, isSigned: earlier?.isSigned ?? request.isSigned })
      store.dropMeta('deleted')
      store.endCopiedRuns()
      alarms.touch()
    })
    await alarms.restore()
    await listing
    // From now on it counts as one that is listed.
    await ports.countBytes(owner, 0, 0)
    return { ok: true, isSigned: earlier?.isSigned ?? request.isSigned }
  } catch (error) {
    if (head.part === 1 && wasDeleted) await store.deleteForGood()
    return invalidCopy(messageOf(error))
  }
}

function writeCopied(
  { copy, caller, id, isSigned }: PartRequest,
  earlier: UnfinishedRestore | undefined,
  ports: BackupPorts,
) {
  const { sql } = ports.ctx.storage
  const { rows, ...remainder } = writePart(sql, copy, earlier ?? { texts: [], isOpen: false })
  if (!(earlier?.isSigned ?? isSigned)) takeOverPart(sql, { caller, id, limits: ports.limits }, rows)
  return remainder
}

/** Answers a part that is there already, or that does not follow the last one; undefined for the next one. */
function knownReply(
  request: PartRequest,
  { part, after }: PartHead,
  ports: BackupPorts,
): Reply<BackupReply> | undefined {
  const { store } = ports
  const { digest, isLast, isSigned } = request
  if (ports.life() === 'open') {
    const restored = store.meta('restore')
    // The reply to the last part was lost.
    return isLast && isObject(restored) && restored['last'] === digest
      ? { ok: true, isSigned: restored['isSigned'] === true }
      : EXISTS
  }
  const earlier = store.restoring()
  if (part === 1)
    return earlier?.first === digest ? { ok: true, part: earlier.part, isSigned: earlier.isSigned } : undefined
  if (earlier?.part === part && earlier.last === digest) return { ok: true, part, isSigned: earlier.isSigned }
  if (!earlier || part !== earlier.part + 1 || after !== earlier.last) return outOfOrder(earlier)
  return earlier.isSigned && !isSigned
    ? invalidCopy('it is not signed by this deployment, as the parts before it are')
    : undefined
}

function outOfOrder(earlier: UnfinishedRestore | undefined): Refusal {
  const last = earlier ? `The last part that was restored is number ${earlier.part}` : 'No part was restored yet'
  return refusalOf('copy_out_of_order', `${last}, and this part of a copy does not follow it. Send them in order.`)
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
