import { Hono } from 'hono/tiny'
import { type BackupReply, type CopyPlace, MOST_PART_BYTES } from '../../contract/backup.ts'
import { releaseBytes } from '../../contract/byte-buffer.ts'
import { isObject } from '../../contract/json.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { bodyTooLarge, readJson } from '../request-body.ts'
import { unwrapReply } from '../problem.ts'
import { openUntil } from '../respond/stream.ts'
import { countCreated, requireRoom } from '../runs/storage-quota.ts'
import type { Surface } from '../surface.ts'
import { copyParts } from '../../wire/client/copy-parts.ts'
import { checkCopy, readPlace, signCopy } from '../../wire/client/copy-signature.ts'
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
  const read: ReadPart = async (place) => {
    const reply = unwrapReply(await conversationOfPath(c).backup({ do: 'copy', from: place, subject }))
    if (reply.stream) return { stream: reply.stream, next: reply.next }
    const { body, lastLine } = await signCopy({ copy: reply.copy ?? new Uint8Array() }, subject, setup.copySigner)
    return { stream: new Blob([body, lastLine]).stream() }
  }
  const first = await read(from)
  return c.body(first.next ? joinParts(first, read) : first.stream, 200, { 'content-type': 'application/x-ndjson' })
})

/** A part of a copy, and where the next one begins; absent for the last. */
interface PartStream {
  readonly stream: ReadableStream<Uint8Array>
  readonly next?: CopyPlace | undefined
}

type ReadPart = (place: CopyPlace | 'start') => Promise<PartStream>

/** Makes one stream of the parts of a copy, each of which is asked for once the one before it was read. */
function joinParts(first: PartStream, read: ReadPart): ReadableStream<Uint8Array> {
  // workerd passes bytes from one stream to another by itself.
  const Identity = typeof IdentityTransformStream === 'undefined' ? TransformStream : IdentityTransformStream
  const { readable, writable } = new Identity()
  const pass = async () => {
    try {
      for (let part = first; ; part = await read(part.next)) {
        await part.stream.pipeTo(writable, { preventClose: part.next !== undefined })
        if (!part.next) return
      }
    } catch (error) {
      await writable.abort(error)
    }
  }
  return openUntil(
    readable,
    pass().catch(() => {}),
  )
}

app.put('/:id', async (c) => {
  requireScope(c.env.caller, 'backup')
  const id = conversationIdOfPath(c)
  const { setup, caller } = c.env
  const parts = copyParts(c.req.raw.body ? piecesOf(c.req.raw.body) : [], {
    most: MOST_PART_BYTES,
    tooLong: () => bodyTooLarge(MOST_PART_BYTES),
  })
  let reply: BackupReply = {}
  let isFirst = true
  for await (const copy of parts) {
    const checked = await checkCopy(copy, { tenant: caller.tenant, id }, setup.copySigner)
    // What is made of the last part can be used, so nothing may follow it.
    if (checked.isLast && !(await parts.next()).done)
      throw invalidRequest({ message: 'The copy continues after its last part.', path: '' })
    if (isFirst) await requireRoom(c.env, id, copy.byteLength)
    isFirst = false
    const request = { do: 'restore', caller, id, copy, ...checked } as const
    reply = { isSigned: checked.isSigned, ...unwrapReply(await conversationOfPath(c).backup(request)) }
    releaseBytes(copy)
  }
  const { part, isSigned: signed } = reply
  if (part !== undefined) return c.json({ id, signed, part }, 202)
  countCreated(c.env)
  return c.json({ id, signed }, 201)
})

const PIECE_BYTES = 64 * 1024

/** Reads a stream into one buffer, so that nothing stays in memory of what was read. A piece is there until the next one. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader({ mode: 'byob' })
  try {
    for (let buffer = new ArrayBuffer(PIECE_BYTES); ;) {
      const { done, value } = await reader.read(new Uint8Array(buffer))
      if (done) return
      yield value
      buffer = value.buffer
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

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
