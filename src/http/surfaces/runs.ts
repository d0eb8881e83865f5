import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { decodeRunBody } from '../../wire/client/request.ts'
import { prepareRun } from '../runs/prepare-run.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import { answerFormat, wantsEvents } from '../respond/stream.ts'
import { runInWorker, startEphemeral } from '../runs/start-run.ts'
import { Problem } from '../problem.ts'

/** `POST /runs`: a run without a conversation. It is stored only with an Idempotency-Key, for a day. */
export const runs = new Hono<EdgeEnv>()

runs.post('/', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup } = c.env
  const answer = answerFormat(c)
  const decoded = decodeRunBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const context = requestContext(c, wantsEvents(c.req.raw) ? 'all' : undefined)
  const preparedRun = await prepareRun(context, decoded.request)
  const handle =
    preparedRun.run.fingerprint === undefined
      ? runInWorker(context, preparedRun)
      : await startEphemeral(context, preparedRun)
  return answer(handle)
})

/**
 * Returns the query of a request, which may have these parameters and no others. Throws a Problem 400 that names the
 * first one that is unknown: it would have no effect.
 */
export function readQuery<Name extends string>(
  { req }: Pick<Context<EdgeEnv>, 'req'>,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const query: Partial<Record<string, string>> = req.query()
  const unknown = Object.keys(query).find((name) => !names.some((each) => each === name))
  if (unknown === undefined) return query
  const hint = names.length === 0 ? 'This request takes none.' : `This request takes ${names.join(', ')}.`
  throw invalidRequest({ message: `There is no parameter "${unknown.slice(0, 80)}". ${hint}`, path: unknown })
}

export function invalidRequest({ message, path }: { message: string; path: string }): Problem {
  return new Problem({ status: 400, code: 'invalid_request', message, param: path })
}
