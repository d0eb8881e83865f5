import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../context.ts'
import { readJson } from '../request-body.ts'
import { takeReport } from '../runs/take-report.ts'
import type { Surface } from '../surface.ts'

const app = new Hono<EdgeEnv>()

/** `/outcomes`: where tools report on calls that they answer later. The token in the path is the right to do so. */
export const outcomes: Surface = { routes: { '/outcomes': app }, isPublic: true }

app.post('/:token', async (c) => {
  const { setup } = c.env
  await takeReport(setup, c.req.param('token'), await readJson(c.req.raw, setup.config.maxBodyBytes))
  return c.json({ ok: true })
})
