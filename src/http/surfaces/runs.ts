import { Hono } from 'hono/tiny'
import { decodeRunBody } from '../../wire/client/request.ts'
import { accept } from '../runs/prepare-run.ts'
import { demand } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { askedBy, type EdgeEnv } from '../context.ts'
import { answering } from '../respond/format.ts'
import { launchHere, launchHidden } from '../runs/start-run.ts'
import { Problem } from '../problem.ts'

/** `POST /runs`: a run without a conversation. It is stored only with an Idempotency-Key, for a day. */
export const runs = new Hono<EdgeEnv>()

runs.post('/', async (c) => {
  demand(c.env.caller, 'chat')
  const { setup } = c.env
  const answer = answering(c.req.raw)
  const decoded = decodeRunBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const asked = askedBy(c)
  const accepted = await accept(asked, decoded.request)
  const launched =
    accepted.run.fingerprint === undefined ? launchHere(asked, accepted) : await launchHidden(setup, accepted)
  return answer(launched)
})

export function invalidRequest({ message, path }: { message: string; path: string }): Problem {
  return new Problem({ status: 400, code: 'invalid_request', message, param: path })
}
