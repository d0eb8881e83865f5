import { Hono } from 'hono/tiny'
import { UNKNOWN_WINDOW } from '../../contract/model.ts'
import type { Setup } from '../../contract/setup.ts'
import { modelOf } from '../runs/prepare-run.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeEnv } from '../context.ts'
import { openAiError } from '../problem.ts'
import type { Dialect } from '../surface.ts'

/** `GET /v1/models`: the models with exact names. `GET /v1/models/{name}`: any model that a request may use. */
export const modelRoutes = new Hono<EdgeEnv>()

modelRoutes.get('/', (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json({ object: 'list', data: c.env.setup.models.list().map((name) => describeModel(c.env.setup, name)) })
})

modelRoutes.get('/:name{.+}', (c) => {
  requireScope(c.env.caller, 'chat')
  return c.json(describeModel(c.env.setup, modelOf(c.env.setup, c.req.param('name')).name))
})

/** Errors under `/v1/` have OpenAI's form. */
export const OPENAI: Dialect = { under: '/v1/', answer: openAiError }

/**
 * The `created` time of every model: 2026-01-01, in epoch seconds. Clients sort by it, and no provider reports the true
 * one in all formats.
 */
const CREATED = 1_767_225_600

function describeModel({ models }: Setup, id: string): object {
  const resolution = models.resolve(id)
  const { capabilities, window = UNKNOWN_WINDOW } = resolution.ok ? resolution.model : {}
  return {
    id,
    object: 'model',
    created: CREATED,
    owned_by: id.split('/')[0],
    edgecall: { ...capabilities, ...window },
  }
}
