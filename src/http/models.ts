import { Hono } from 'hono/tiny'
import { demand } from './auth.ts'
import type { EdgeEnv } from './context.ts'

/** `GET /v1/models`: the exact names that a request may use. */
export const models = new Hono<EdgeEnv>()

models.get('/', (c) => {
  demand(c.var.caller, 'chat')
  const data = c.var.setup.models.list().map((id) => ({ id, object: 'model', created: 0, owned_by: id.split('/')[0] }))
  return c.json({ object: 'list', data })
})
