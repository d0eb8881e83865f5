import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../http/context.ts'
import type { SurfacePart } from '../http/surface.ts'
import { openApi } from '../http/surfaces/openapi.ts'
import { PAGE_POLICY } from '../studio/page-policy.ts'
import page from '../studio/page.html'
import type { EdgeOptions } from './options.ts'
import type { Part } from './part.ts'
import { allParts } from './parts.ts'
import { allProviders } from './providers.ts'

const app = new Hono<EdgeEnv>()

app.get('/', (c) => (c.env.setup.config.studio ? c.html(page, 200, HEADERS) : c.notFound()))

/** The studio at `GET /`, unless `STUDIO` is `off`. */
export const studio: SurfacePart = { name: 'studio', surfaces: [{ routes: { '/': app }, isPublic: true }] }

const HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const parts: readonly Part[] = [studio, openApi, ...allParts()]

/**
 * All providers and parts.
 *
 * @example createEdge({ ...everything, hooks: [hook] })
 */
export const everything = { providers: allProviders, use: parts } satisfies EdgeOptions
