import { Hono } from 'hono/tiny'
import { ConfigError } from '../../contract/config.ts'
import { type MakeSetup, type Setup, setupOf } from '../../contract/setup.ts'
import { agUi } from '../surfaces/ag-ui.ts'
import { authenticate, isLoopback } from '../middleware/auth.ts'
import { answerUsage } from '../runs/budget.ts'
import { chatCompletions } from '../surfaces/chat-completions.ts'
import type { EdgeEnv, WaitUntil } from '../context.ts'
import { conversations } from '../surfaces/conversations/conversations.ts'
import { cors } from '../middleware/cors.ts'
import { mcp, mcpProblem } from '../surfaces/mcp.ts'
import { models } from '../surfaces/models.ts'
import { openAiError, Problem, problemJson } from '../problem.ts'
import { countRequest } from '../middleware/rate.ts'
import { responsesApi } from '../surfaces/responses.ts'
import { runs } from '../surfaces/runs.ts'
import { tools } from '../surfaces/tools/tools.ts'
import { uiChat } from '../surfaces/ui-chat.ts'

/** The page of `GET /`. */
export interface Page {
  readonly html: string
  /** Its Content-Security-Policy, with the hashes of its script and style. */
  readonly policy: string
}

/**
 * Makes the edge Worker: `export default edge(setup)`. `page` and `openapi` are what `GET /` and `GET /openapi.json`
 * answer; without it, a route answers 404.
 */
export function edge<Env extends object>(
  makeSetup: MakeSetup<Env>,
  page?: Page,
  openapi = '',
): { fetch(request: Request, env: Env, ctx?: { waitUntil: WaitUntil }): Response | Promise<Response> } {
  const app = routes(page, openapi)
  return {
    fetch: (request, env, ctx) => {
      let setup: Setup
      try {
        setup = setupOf(makeSetup, env)
      } catch (error) {
        return answerMisconfigured(new URL(request.url), error)
      }
      return app.fetch(request, { setup, waitUntil: (work) => ctx?.waitUntil(work) })
    },
  }
}

/** Makes the app with all routes of an edge. Each route is in the document that `npm run openapi` makes. */
export function routes(page: Page | undefined, openapi: string): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>()
  app.use(cors)
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/', (c) => {
    if (!page || !c.env.setup.config.playground) return c.notFound()
    return c.html(page.html, 200, { ...PAGE_HEADERS, 'content-security-policy': page.policy })
  })
  app.get('/openapi.json', (c) => (openapi === '' ? c.notFound() : c.body(openapi, 200, JSON_HEADERS)))
  app.use(async (c, next) => {
    const { setup } = c.env
    c.env.caller = await authenticate(c.req.raw, setup.config, Date.now())
    await countRequest(setup, c.env.caller)
    await next()
  })
  app.route('/v1/chat/completions', chatCompletions)
  app.route('/v1/responses', responsesApi)
  app.route('/v1/models', models)
  app.route('/conversations', conversations)
  app.route('/runs', runs)
  app.route('/chat', uiChat)
  app.route('/ag-ui', agUi)
  app.route('/tools', tools)
  app.get('/usage', answerUsage)
  app.route('/mcp', mcp)
  app.notFound((c) =>
    answerProblem(c.req.path, new Problem({ status: 404, code: 'not_found', message: 'There is no such route.' })),
  )
  app.onError((error, c) => {
    if (error instanceof Problem) return answerProblem(c.req.path, error)
    c.env.setup.report({ event: 'edge.failed', path: c.req.path, detail: error.stack ?? error.message })
    return answerProblem(c.req.path, new Problem({ status: 500, code: 'internal_error', message: 'The edge failed.' }))
  })
  return app
}

/** Answers with a Problem in the error format of the surface. */
function answerProblem(path: string, problem: Problem): Response {
  if (path === '/mcp') return mcpProblem(problem)
  return path.startsWith('/v1/') ? openAiError(problem) : problemJson(problem)
}

/** Answers for an edge whose setup failed. Only its developer, who asks over loopback, is told what is wrong. */
function answerMisconfigured({ pathname: path, hostname }: URL, error: unknown): Response {
  const isLocal = isLoopback(hostname) && error instanceof ConfigError
  const message = isLocal ? error.message : 'The setup of this edge failed; its log has the reason.'
  console.error(JSON.stringify({ event: 'edge.misconfigured', detail: String(error) }))
  return answerProblem(path, new Problem({ status: 503, code: 'misconfigured', message }))
}

const JSON_HEADERS = { 'content-type': 'application/json' }

const PAGE_HEADERS = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
