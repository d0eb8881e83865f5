import { Hono } from 'hono/tiny'
import { MOST_COPY_BYTES } from '../../contract/backup.ts'
import { isObject } from '../../contract/json.ts'
import { readBody } from '../../contract/bytes.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { bodyTooLarge, readJson } from '../request-body.ts'
import { unwrapReply } from '../problem.ts'
import { isSignedCopy, signCopy } from '../runs/signer.ts'
import { countCreated, requireRoom } from '../runs/storage-quota.ts'
import type { Surface } from '../surface.ts'
import { conversationIdOfPath, conversationOfPath } from './conversations/conversations.ts'
import { invalidRequest } from './runs.ts'

const app = new Hono<EdgeEnv>()

/** `/backups`: copies of conversations, and their recovery. */
export const backupRoutes: Surface = { routes: { '/backups': app } }

app.get('/:id', async (c) => {
  requireScope(c.env.caller, 'backup')
  const { setup, caller } = c.env
  const { copy = new Uint8Array() } = unwrapReply(await conversationOfPath(c).backup({ do: 'copy' }))
  const signedCopy = setup.copySigner ? await signCopy(copy, caller.tenant, setup.copySigner) : copy.slice()
  return c.body(signedCopy, 200, { 'content-type': 'application/x-ndjson' })
})

app.put('/:id', async (c) => {
  requireScope(c.env.caller, 'backup')
  const id = conversationIdOfPath(c)
  const { bytes, isComplete } = await readBody(c.req.raw, MOST_COPY_BYTES)
  if (!isComplete) throw bodyTooLarge(MOST_COPY_BYTES)
  await requireRoom(c.env, id, bytes.byteLength)
  const { setup, caller } = c.env
  const isSigned = await isSignedCopy(bytes, { tenant: caller.tenant, id }, setup.copySigner)
  unwrapReply(await conversationOfPath(c).backup({ do: 'restore', caller, id, copy: bytes, isSigned }))
  countCreated(c.env)
  return c.json({ id, signed: isSigned }, 201)
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
