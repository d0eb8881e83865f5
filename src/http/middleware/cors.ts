import type { MiddlewareHandler } from 'hono'
import type { EdgeEnv } from '../context.ts'

const EXPOSED_HEADERS =
  'x-run-id, x-conversation-id, x-total-count, x-run-joined, x-should-retry, x-model-attempts, idempotent-replayed, etag, location, retry-after'

/** Allows pages of the configured origins, compared exactly, and never credentials (CORS protocol, Fetch standard). */
export const cors: MiddlewareHandler<EdgeEnv> = async (c, next) => {
  const { corsOrigins } = c.env.setup.config
  const origin = c.req.header('origin')
  const isAllowed = origin !== undefined && corsOrigins.includes(origin)
  if (c.req.method === 'OPTIONS') c.res = preflight(c.req.header('access-control-request-headers'))
  else await next()
  if (corsOrigins.length === 0) return
  // `c.header` would make a new Response.
  const { headers } = c.res
  headers.append('vary', 'origin')
  if (!isAllowed) return
  headers.set('access-control-allow-origin', origin)
  headers.set('access-control-expose-headers', EXPOSED_HEADERS)
}

/** Answers a preflight request. Any header may be sent: access depends on the API key in one of them alone. */
function preflight(headers = ''): Response {
  const allowHeaders = {
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': headers,
  }
  return new Response(null, { status: 204, headers: { ...allowHeaders, 'access-control-max-age': '86400' } })
}
