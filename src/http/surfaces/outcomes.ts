import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../context.ts'
import { countAddress, countReport, MOST_PUBLIC_BYTES } from '../middleware/rate.ts'
import { readJson } from '../request-body.ts'
import { reportedCall, takeReport } from '../runs/take-report.ts'
import type { Surface } from '../surface.ts'

const app = new Hono<EdgeEnv>()

/** `/outcomes`: where tools report on calls that they answer later. The token in the path is the right to do so. */
export const outcomes: Surface = { routes: { '/outcomes': app }, isPublic: true, limitsRate: true }

app.post('/:token', async (c) => {
  const { setup } = c.env
  const token = c.req.param('token')
  const call = await reportedCall(setup, token).catch((error: unknown) => {
    countAddress(setup, c.req.raw)
    throw error
  })
  countReport(setup, token, c.req.raw)
  const body = await readJson(c.req.raw, Math.min(setup.config.maxBodyBytes, MOST_PUBLIC_BYTES))
  await takeReport(setup, call, body)
  return c.json({ ok: true })
})
