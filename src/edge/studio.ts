import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../http/context.ts'
import type { Surface } from '../http/surface.ts'
import page from '../studio/page.html'
import { PAGE_POLICY } from '../studio/page-policy.ts'

const app = new Hono<EdgeEnv>()

app.get('/', (c) => (c.env.setup.config.studio ? c.html(page, 200, HEADERS) : c.notFound()))

/** The studio at `GET /`, unless `STUDIO` is `off`. */
export const studio: Surface = { routes: { '/': app }, isPublic: true }

const HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
