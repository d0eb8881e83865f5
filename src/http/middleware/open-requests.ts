import { createMiddleware } from 'hono/factory'
import { begin, reachedActivity } from '../../contract/occupancy.ts'
import type { EdgeEnv } from '../context.ts'
import { endOf } from '../respond/open-streams.ts'
import { quotaProblem } from '../problem.ts'

/** Counts the open requests of each tenant and key. Throws a Problem 429 before there are too many in this isolate. */
export const countOpenRequests = createMiddleware<EdgeEnv>(async (c, next) => {
  const { setup, caller } = c.env
  const reached = reachedActivity(setup, 'openRequests', caller)
  if (reached) throw quotaProblem(reached)
  const end = begin(setup, 'openRequests', caller)
  try {
    await next()
  } finally {
    const ended = endOf(c.res)
    // Without `waitUntil`, the platform would end the work of the request with its response, before the count goes
    // down.
    if (ended) c.env.waitUntil(ended.then(end, end))
    else end()
  }
})
