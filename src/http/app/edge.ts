import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono/tiny'
import { ConfigError } from '../../contract/config.ts'
import { type MakeSetup, type Setup, setupOf } from '../../contract/setup.ts'
import { type Caller, ToolsUnavailable } from '../../contract/tool.ts'
import type { EdgeEnv } from '../context.ts'
import { authenticate, isLoopback } from '../middleware/auth.ts'
import { countOpenRequests, countPublicRequests, countRequest } from '../middleware/rate.ts'
import { Problem, type ProblemDetails, problemJson } from '../problem.ts'
import type { WaitUntil } from '../request-context.ts'
import type { Formats } from '../respond/stream.ts'
import { objectProblem } from '../runs/conversation-stub.ts'
import { answerUsage } from '../runs/quota-usage.ts'
import type { Dialect, Surface } from '../surface.ts'
import { conversations } from '../surfaces/conversations/conversations.ts'
import { readQuery, runs } from '../surfaces/runs.ts'
import { toolRoutes } from '../surfaces/tools/tools.ts'
import { encodeLabels, REFUSALS, type Series } from '../../contract/metrics.ts'
import { EDGE_TENANT } from '../../contract/tenants.ts'
import { messageOf } from '../../contract/thrown.ts'
import { pause } from '../../contract/time-limit.ts'

/** The handler of an edge Worker. */
export interface EdgeWorker<Env> {
  fetch(request: Request, env: Env, ctx?: { waitUntil: WaitUntil }): Response | Promise<Response>
}

/** Makes the handler of an edge Worker, with the native API and these surfaces. */
export function edge<Env extends object>(
  makeSetup: MakeSetup<Env>,
  surfaces: readonly Surface[] = [],
): EdgeWorker<Env> {
  const app = routes(surfaces)
  const formats: Formats = Object.assign({}, ...surfaces.map((surface) => surface.formats))
  const findDialect = dialectFinder(surfaces)
  return {
    fetch: (request, env, ctx) => {
      let setup: Setup
      try {
        setup = setupOf(makeSetup, env)
      } catch (error) {
        const url = new URL(request.url)
        const { answer = problemJson } = findDialect(url.pathname, request.headers)
        return answer(misconfigured(url, error))
      }
      return app.fetch(request, { setup, formats, waitUntil: (work) => ctx?.waitUntil(work) })
    },
  }
}

const health = new Hono<EdgeEnv>()
health.get('/', (c) => c.json({ status: 'ok' }))
const HEALTH: Surface = { routes: { '/health': health }, isPublic: true }

const usage = new Hono<EdgeEnv>()
// The surface `usageBy` answers with the usage of the tenant.
usage.get('/', (c, next) => {
  if (c.req.query('by') !== undefined) return next()
  readQuery(c)
  return answerUsage(c)
})

const caller = new Hono<EdgeEnv>()
caller.get('/', (c) => {
  const { env } = c
  const { tenant, key, scopes } = env.caller
  readQuery(c)
  return c.json({ tenant, key, scopes, currency: env.setup.config.currency })
})

/** The native API. */
const NATIVE: Surface = {
  routes: {
    '/caller': caller,
    '/conversations': conversations,
    '/runs': runs,
    '/tools': toolRoutes,
    '/usage': usage,
  },
}

const NO_WEBSOCKET = {
  status: 426,
  code: 'websocket_unsupported',
  message: 'This edge has no WebSockets: send the request over HTTP.',
} as const

/** Makes the app of an edge with these surfaces. Each route is in the document that `npm run openapi` makes. */
export function routes(surfaces: readonly Surface[]): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>()
  const ordered = byPath(surfaces)
  const findDialect = dialectFinder(surfaces)
  const answerProblem = ({ req: { path, raw }, env: { setup } }: Context<EdgeEnv>, problem: Problem) =>
    (findDialect(path, raw.headers).answer ?? problemJson)(problem, { request: raw, setup })
  const mount = ({ routes: apps }: Surface) => {
    for (const [path, each] of Object.entries(apps)) app.route(path, each)
  }
  const open = [HEALTH, ...surfaces.filter(({ isPublic }) => isPublic)]
  const anyOriginPaths = open.flatMap(({ routes: apps, anyOrigin }) => (anyOrigin ? Object.keys(apps) : []))
  app.use(cors(anyOriginPaths, () => methodsOf(app)))
  app.use(countPublicRequests(open.flatMap(({ routes: apps, limitsRate }) => (limitsRate ? [] : Object.keys(apps)))))
  open.forEach(mount)
  app.use(async (c, next) => {
    const { setup } = c.env
    c.env.caller = await authenticate(c.req.raw, setup, Date.now(), findDialect(c.req.path, c.req.raw.headers))
    await countRequest(setup, c.env.caller)
    const { key } = c.env.caller
    if (setup.keyStates && key !== undefined) c.env.waitUntil(setup.keyStates.used(key))
    await next()
  })
  app.use(countOpenRequests)
  ;[NATIVE, ...ordered.filter(({ isPublic }) => !isPublic)].forEach(mount)
  app.notFound((c) => {
    // By this status, clients such as Codex send the same over HTTP, and by any other they try a WebSocket again.
    const isSocket = c.req.header('upgrade')?.toLowerCase() === 'websocket'
    return answerProblem(c, isSocket ? new Problem(NO_WEBSOCKET) : unknownRoute(c.req.path))
  })
  app.onError((error, c) => {
    const refusal = error instanceof ToolsUnavailable ? toolsProblem(error) : error
    if (refusal instanceof Problem) {
      countRefusal(c.env, refusal.details)
      return answerProblem(c, refusal)
    }
    const { method, path } = c.req
    const unreachable = objectProblem(error, method)
    if (unreachable) {
      c.env.setup.report({
        event: 'object.unreachable',
        code: unreachable.details.code,
        method,
        path,
        detail: error.message,
      })
      countRefusal(c.env, unreachable.details)
      return answerProblem(c, unreachable)
    }
    c.env.setup.report({ event: 'edge.failed', path, detail: error.stack ?? error.message })
    return answerProblem(c, new Problem({ status: 500, code: 'internal_error', message: 'The edge failed.' }))
  })
  return app
}

function toolsProblem({ message }: ToolsUnavailable): Problem {
  return new Problem({ status: 503, code: 'tools_unavailable', message, retryAfterMs: TOOLS_RETRY_MS })
}

/** After how long a request may succeed whose tools could not be read. */
const TOOLS_RETRY_MS = 5000

/** Orders surfaces: those whose dialect is for a longer path come first. */
function byPath(surfaces: readonly Surface[]): readonly Surface[] {
  return surfaces.toSorted((a, b) => (b.dialect?.under.length ?? 0) - (a.dialect?.under.length ?? 0))
}

/** A base URL with a slash at its end makes paths such as `//v1/models`, for which clients show no more than the message. */
function unknownRoute(path: string): Problem {
  const hint = path.includes('//') ? ' Leave the slash at the end of the base URL out.' : ''
  return new Problem({ status: 404, code: 'not_found', message: `There is no such route.${hint}` })
}

/** Returns a function that finds the dialect of a request. */
function dialectFinder(surfaces: readonly Surface[]): (path: string, headers: Headers) => Partial<Dialect> {
  const dialects = byPath(surfaces).flatMap(({ dialect }) => dialect ?? [])
  return (fullPath, headers) => {
    const path = fullPath.replace(/^\/+/, '/')
    const isSpoken = ({ under, header }: Dialect) => path.startsWith(under) && (!header || headers.has(header))
    return dialects.find(isSpoken) ?? {}
  }
}

/**
 * Returns the Problem of an edge whose setup failed. Only requests over loopback, which are the developer's own, get
 * the reason.
 */
function misconfigured({ hostname }: URL, error: unknown): Problem {
  const isLocal = isLoopback(hostname) && error instanceof ConfigError
  const message = isLocal ? error.message : 'The setup of this edge failed; its log has the reason.'
  console.error(JSON.stringify({ event: 'edge.misconfigured', detail: String(error) }))
  return new Problem({ status: 503, code: 'misconfigured', message })
}

const EXPOSED_HEADERS =
  'x-run-id, x-conversation-id, x-total-count, x-run-joined, x-should-retry, x-model-attempts, idempotent-replayed, edgecall-error, edgecall-ignored, mcp-session-id, etag, location, retry-after, www-authenticate'

/**
 * Allows pages of the configured origins, compared exactly, and those of any origin under the paths that are public for
 * all. Never allows credentials (CORS protocol, Fetch standard).
 */
function cors(anyOriginPaths: readonly string[], methods: () => string): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const { corsOrigins } = c.env.setup.config
    const origin = c.req.header('origin')
    if (c.req.method === 'OPTIONS') c.res = preflight(methods(), c.req.header('access-control-request-headers'))
    else await next()
    // `c.header` would make a new Response.
    const { headers } = c.res
    if (anyOriginPaths.some((path) => c.req.path.startsWith(path))) headers.set('access-control-allow-origin', '*')
    else if (corsOrigins.length > 0) {
      headers.append('vary', 'origin')
      if (origin === undefined || !corsOrigins.includes(origin)) return
      headers.set('access-control-allow-origin', origin)
      headers.set('access-control-expose-headers', EXPOSED_HEADERS)
    }
  }
}

/** Returns the methods that routes of the edge have. */
function methodsOf({ routes: all }: Hono<EdgeEnv>): string {
  const methods = all.flatMap(({ method }) => (method === 'ALL' ? [] : method))
  return [...new Set(methods)].sort().join(', ')
}

/** Answers a preflight request. Any header may be sent: access depends on the API key in one of them alone. */
function preflight(methods: string, headers = ''): Response {
  const allowHeaders = {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': headers,
  }
  return new Response(null, { status: 204, headers: { ...allowHeaders, 'access-control-max-age': '86400' } })
}

/** For how long an isolate collects refusals before it counts them: many requests make few writes. */
const COLLECT_MS = 5000
/** After this time, the request that was to count them is lost: the platform may drop what it does after its answer. */
const MOST_AGE_MS = 2 * COLLECT_MS

/**
 * Counts a request that was refused for its tenant, or for the edge if it has none, unless its status is of another kind.
 * Refusals that an isolate has collected when it ends are lost.
 */
function countRefusal(
  {
    setup,
    caller,
    waitUntil,
  }: { readonly setup: Setup; readonly caller?: Caller | undefined; readonly waitUntil: WaitUntil },
  { status, code }: Pick<ProblemDetails, 'status' | 'code'>,
): void {
  const { isolate, runDirectories } = setup
  if (!runDirectories || !Object.hasOwn(REFUSALS, status)) return
  const refusals = (isolate.refusals ??= new Map())
  const tenant = caller?.tenant ?? EDGE_TENANT
  const own = refusals.get(tenant) ?? new Map<string, number>()
  refusals.set(tenant, own)
  const labels = encodeLabels({ status: String(status), code })
  own.set(labels, (own.get(labels) ?? 0) + 1)
  if (Date.now() < (isolate.refusalsDue ?? 0)) return
  isolate.refusalsDue = Date.now() + MOST_AGE_MS
  waitUntil(sendLater(setup))
}

async function sendLater(setup: Setup): Promise<void> {
  await pause(COLLECT_MS)
  const { isolate, runDirectories, report } = setup
  const refusals = isolate.refusals ?? []
  isolate.refusals = undefined
  isolate.refusalsDue = 0
  await Promise.all(
    Array.from(refusals, async ([tenant, own]) => {
      const series = Array.from(own, ([labels, value]): Series => {
        return { name: 'edgecall_refused_requests', labels, part: 'value', le: 0, value }
      })
      const counted = { run: `refused-${crypto.randomUUID()}`, at: Date.now(), shares: [], series }
      try {
        await runDirectories?.getByName(tenant).countRuns([counted])
      } catch (error) {
        report({ event: 'refusals.not_counted', tenant, detail: messageOf(error) })
      }
    }),
  )
}
