import { Hono } from 'hono/tiny'
import { type BackupReply, type CopyPlace, MOST_PART_BYTES } from '../../contract/backup.ts'
import { isObject } from '../../contract/json.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { bodyTooLarge, readJson } from '../request-body.ts'
import { unwrapReply } from '../problem.ts'
import { openUntil } from '../respond/stream.ts'
import { checkCopy, readPlace, signCopy, type SignedCopy } from '../runs/copy-signature.ts'
import { countCreated, requireRoom } from '../runs/storage-quota.ts'
import type { Surface } from '../surface.ts'
import { copyParts } from '../../wire/client/copy-parts.ts'
import { conversationIdOfPath, conversationOfPath } from './conversations/conversations.ts'
import { invalidRequest } from './runs.ts'

const app = new Hono<EdgeEnv>()

/** `/backups`: copies of conversations, and their recovery. */
export const backupRoutes: Surface = { routes: { '/backups': app } }

app.get('/:id', async (c) => {
  requireScope(c.env.caller, 'backup')
  const { setup, caller } = c.env
  const subject = { tenant: caller.tenant, id: conversationIdOfPath(c) }
  const after = c.req.query('after')
  const from = after === undefined ? 'start' : await readPlace(after, subject, setup.copySigner)
  if (!from) throw invalidRequest({ message: '"after" is not the `next` of a part of a copy.', path: 'after' })
  const read = async (place: CopyPlace | 'start') => {
    const { copy = new Uint8Array(), next } = unwrapReply(
      await conversationOfPath(c).backup({ do: 'copy', from: place }),
    )
    return signCopy({ copy, next }, subject, setup.copySigner)
  }
  const first = await read(from)
  const body = first.next ? streamOf(partsFrom(first, read)) : new Blob([first.body, first.lastLine]).stream()
  return c.body(body, 200, { 'content-type': 'application/x-ndjson' })
})

/** Reads the parts of a copy, each when the one before it is on its way. */
async function* partsFrom(
  first: SignedCopy,
  read: (place: CopyPlace) => Promise<SignedCopy>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let part = first; ; part = await read(part.next)) {
    yield part.body
    yield part.lastLine
    if (!part.next) return
  }
}

/**
 * Makes a stream of bytes, which asks for the next ones once those before were read. workerd has copied them by then, so
 * they are released.
 */
function streamOf(pieces: AsyncIterable<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array> {
  const isCopied = typeof IdentityTransformStream !== 'undefined'
  const { readable, writable } = isCopied ? new IdentityTransformStream() : new TransformStream()
  const write = async () => {
    const writer = writable.getWriter()
    try {
      for await (const piece of pieces) {
        await writer.write(piece)
        if (isCopied) release(piece)
      }
      await writer.close()
    } catch (error) {
      await writer.abort(error)
    }
  }
  return openUntil(
    readable,
    write().catch(() => {}),
  )
}

/**
 * Gives the memory of bytes back that nobody needs any more. Otherwise much of a long copy stays in memory, since garbage
 * outside of the heap is collected late.
 */
function release({ buffer }: Uint8Array<ArrayBuffer>): void {
  buffer.transfer(0)
}

app.put('/:id', async (c) => {
  requireScope(c.env.caller, 'backup')
  const id = conversationIdOfPath(c)
  const { setup, caller } = c.env
  const parts = copyParts(c.req.raw.body ?? new Blob().stream(), {
    most: MOST_PART_BYTES,
    tooLong: () => bodyTooLarge(MOST_PART_BYTES),
  })
  let reply: BackupReply = {}
  for (let next = await parts.next(), isFirst = true; !next.done; isFirst = false) {
    const copy = next.value
    const checked = await checkCopy(copy, { tenant: caller.tenant, id }, setup.copySigner)
    next = await parts.next()
    if (checked.isLast && !next.done)
      throw invalidRequest({ message: 'The copy continues after its last part.', path: '' })
    if (isFirst) await requireRoom(c.env, id, copy.byteLength)
    const request = { do: 'restore', caller, id, copy, ...checked } as const
    reply = { isSigned: checked.isSigned, ...unwrapReply(await conversationOfPath(c).backup(request)) }
    release(copy)
  }
  const { part, isSigned: signed } = reply
  if (part !== undefined) return c.json({ id, signed, part }, 202)
  countCreated(c.env)
  return c.json({ id, signed }, 201)
})

app.post('/:id/rewind', async (c) => {
  requireScope(c.env.caller, 'backup')
  const { setup } = c.env
  const id = conversationIdOfPath(c)
  const body = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const at = isObject(body) && typeof body['at'] === 'string' ? Date.parse(body['at']) : NaN
  if (Number.isNaN(at)) {
    throw invalidRequest({ message: 'Send { "at": … } with a time such as 2026-02-28T14:30:00Z.', path: 'at' })
  }
  unwrapReply(await conversationOfPath(c).backup({ do: 'rewind', at }))
  // It was removed from the list if it had been deleted.
  await setup.directories.getByName(c.env.caller.tenant).add(id)
  return c.json({ id, at: new Date(at).toISOString() }, 202)
})
