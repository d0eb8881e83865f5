import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../context.ts'
import document from '../openapi.txt'
import type { SurfacePart } from '../surface.ts'

const app = new Hono<EdgeEnv>()

app.get('/', (c) => c.body(document, 200, { 'content-type': 'application/json' }))

/** The OpenAPI document of an edge with everything, at `GET /openapi.json`. */
export const openApi: SurfacePart = {
  name: 'openApi',
  surfaces: [{ routes: { '/openapi.json': app }, isPublic: true }],
}
