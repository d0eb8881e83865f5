import { Hono } from 'hono/tiny'
import { modelOf } from './accept.ts'
import { demand } from './auth.ts'
import type { EdgeEnv } from './context.ts'

/** `GET /v1/models`: the exact names that a request may use; `GET /v1/models/{name}`: one that it may. */
export const models = new Hono<EdgeEnv>()

models.get('/', (c) => {
  demand(c.var.caller, 'chat')
  return c.json({ object: 'list', data: c.var.setup.models.list().map(describe) })
})

models.get('/:name{.+}', (c) => {
  demand(c.var.caller, 'chat')
  return c.json(describe(modelOf(c.var.setup, c.req.param('name')).name))
})

function describe(id: string): object {
  return { id, object: 'model', created: 0, owned_by: id.split('/')[0] }
}
