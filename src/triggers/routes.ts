import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import type { Scope } from '../contract/api-key.ts'
import { ID, newId } from '../contract/id.ts'
import type { ScheduleDefinition, ScheduleRefusal, ScheduleReply, ScheduleService } from '../contract/schedule.ts'
import type { EdgeEnv } from '../http/context.ts'
import { requireScope } from '../http/middleware/auth.ts'
import { Problem, quotaProblem, unwrapReply } from '../http/problem.ts'
import { readJson } from '../http/request-body.ts'
import type { EdgeContext } from '../http/request-context.ts'
import { conversationStub } from '../http/runs/conversation-stub.ts'
import { modelOf, requireIdempotencyKey } from '../http/runs/prepare-run.ts'
import type { Surface } from '../http/surface.ts'
import { pageSize } from '../http/surfaces/conversations/conversations.ts'
import { invalidRequest, readQuery } from '../http/surfaces/runs.ts'
import { decodeScheduleBody, decodeScheduleChange } from '../wire/client/schedule.ts'
import { makeTiming } from './times.ts'

const app = new Hono<EdgeEnv>()

/** `/schedules`: runs that start by themselves. */
export const scheduleRoutes: Surface = { routes: { '/schedules': app } }

/** The scope of requests about schedules. */
export const SCHEDULES: Scope = 'schedules'
/** The most bytes of the definition of a schedule: it is a row of the object, and read each time that it is due. */
const MOST_BYTES = 256 * 1024

app.get('/', async (c) => {
  const service = schedulesOf(c)
  const { after = '', limit } = readQuery(c, 'after', 'limit')
  return c.json(await service.list(after, pageSize(limit)))
})

app.get('/:name', async (c) => {
  const service = schedulesOf(c)
  readQuery(c)
  return c.json((await service.get(nameOf(c))) ?? noSchedule())
})

app.put('/:name', async (c) => {
  const service = schedulesOf(c)
  const name = nameOf(c)
  const { caller, setup } = c.env
  const decoded = decodeScheduleBody(await readJson(c.req.raw, Math.min(MOST_BYTES, setup.config.maxBodyBytes)))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const definition = decoded.request
  await checkSchedule(c.env, definition)
  const { created, schedule } = unwrap(await service.put(name, definition, caller))
  return c.json(schedule, created ? 201 : 200)
})

app.patch('/:name', async (c) => {
  const service = schedulesOf(c)
  const decoded = decodeScheduleChange(await readJson(c.req.raw, MOST_BYTES))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { schedule } = unwrap(await service.pause(nameOf(c), decoded.request.paused, c.env.caller.scopes))
  return c.json(schedule)
})

app.post('/:name/run', async (c) => {
  const service = schedulesOf(c)
  const key = c.req.header('idempotency-key') ?? newId('run')
  requireIdempotencyKey(key, 200)
  const { entry } = unwrap(await service.runNow(nameOf(c), key, c.env.caller.scopes))
  return c.json(entry, 202)
})

app.delete('/:name', async (c) => {
  const service = schedulesOf(c)
  unwrap(await service.remove(nameOf(c), c.env.caller.scopes))
  return c.body(null, 204)
})

/** Returns the schedules of the caller's tenant, for a caller with the scope. */
function schedulesOf({ env: { caller, setup } }: Context<EdgeEnv>): ScheduleService {
  requireScope(caller, SCHEDULES)
  const schedules = setup.schedules?.getByName(caller.tenant)
  if (schedules) return schedules
  const message = 'This edge keeps no schedules: bind SCHEDULES.'
  throw new Problem({ status: 404, code: 'not_found', message })
}

/** Returns the name in the path. An invalid one gets the same 404 as an unknown one. */
function nameOf(c: { readonly req: { param(name: 'name'): string } }): string {
  const name = c.req.param('name')
  return ID.test(name) ? name : noSchedule()
}

function noSchedule(): never {
  throw new Problem({ status: 404, code: 'unknown_schedule', message: 'There is no such schedule.' })
}

/** Checks what can be checked of a run before it is due: also that its conversation exists. */
export async function checkSchedule(context: EdgeContext, definition: ScheduleDefinition): Promise<void> {
  checkTerms(context, definition)
  const { conversation } = definition
  if (conversation !== undefined) unwrapReply(await conversationStub(context, conversation).settings())
}

/** Checks the times, the scopes and the model of a schedule. Throws a Problem. */
export function checkTerms({ caller, setup }: EdgeContext, definition: ScheduleDefinition): void {
  const { scopes = caller.scopes, run } = definition
  const now = Date.now()
  const timing = makeTiming(definition, now)
  if ('path' in timing) throw invalidRequest({ message: `${timing.path}: ${timing.message}`, path: timing.path })
  const missing = scopes.find((scope) => !caller.scopes.includes(scope))
  if (missing !== undefined) {
    const message = `The runs would have the scope "${missing}", which your key lacks.`
    throw new Problem({ status: 403, code: 'scope_not_held', message })
  }
  requireScope({ ...caller, scopes }, 'chat')
  const { model } = run
  modelOf(setup, typeof model === 'string' ? model : undefined)
}

function unwrap<Value>(reply: ScheduleReply<Value>): { readonly ok: true } & Value {
  if (reply.ok) return reply
  throw problemOf(reply)
}

function problemOf({ status, code, message, retryAfterMs, reached }: ScheduleRefusal): Problem {
  return reached ? quotaProblem(reached) : new Problem({ status, code, message, retryAfterMs })
}
