import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { Hono } from 'hono/tiny'
import { type ConnectionService, EDGE_OWNER } from '../../contract/connection.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeEnv } from '../context.ts'
import { Problem } from '../problem.ts'
import { readJson } from '../request-body.ts'
import { fieldsOf } from '../../wire/fields.ts'
import type { Surface } from '../surface.ts'
import { readQuery } from './runs.ts'

const app = new Hono<EdgeEnv>()
const callback = new Hono<EdgeEnv>()

/** `/connections`: the servers that the edge accesses by OAuth, and who is signed in to them. */
export const connections: Surface = { routes: { '/connections': app } }

/**
 * Where authorization servers send people back to. These requests have no API key, but a `state` that was issued to a
 * request with one.
 */
export const connectionCallback: Surface = { routes: { '/connections/callback': callback }, isPublic: true }

app.get('/', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  readQuery(c)
  const service = serviceOf(c)
  const { tenant, scopes } = c.env.caller
  const owners = scopes.includes('tools:admin') ? [EDGE_OWNER, tenant] : [tenant]
  const lists = await Promise.all(
    owners.map(async (owner) => {
      const owned = await service.connections(owner)
      return owned.map((each) => ({ owner: owner === EDGE_OWNER ? 'edge' : 'tenant', ...each }))
    }),
  )
  return c.json(lists.flat())
})

app.post('/:server', async (c) => {
  const owner = writableOwner(c)
  const server = c.req.param('server')
  const answer = await serviceOf(c).signIn(owner, server, await readIssuer(c))
  if (!('error' in answer)) {
    const { browser, ...rest } = answer
    if (browser !== undefined) c.header('set-cookie', `${COOKIE}=${browser}; ${COOKIE_TERMS}`)
    return c.json(rest)
  }
  const { error, issuer } = answer
  if (issuer === undefined) throw new Problem({ status: 422, code: 'sign_in_failed', message: error })
  const message = `${error} If credentials may go there, send { "issuer": ${JSON.stringify(issuer)} }.`
  throw new Problem({ status: 409, code: 'issuer_not_accepted', message })
})

app.put('/:server', async (c) => {
  const owner = writableOwner(c)
  const { code } = fieldsOf(await readJson(c.req.raw, c.env.setup.config.maxBodyBytes))
  if (typeof code !== 'string') {
    const message = 'Send { "code": … } with the code that the page showed.'
    throw new Problem({ status: 422, code: 'invalid_request', message, param: 'code' })
  }
  const end = await serviceOf(c).confirm(owner, c.req.param('server'), code)
  if ('server' in end) return c.json({ server: end.server })
  throw new Problem({ status: 422, code: 'sign_in_failed', message: end.error })
})

app.delete('/:server', async (c) => {
  const owner = writableOwner(c)
  const server = c.req.param('server')
  if (await serviceOf(c).disconnect(owner, server)) return c.body(null, 204)
  throw new Problem({ status: 404, code: 'unknown_connection', message: `There is no connection to "${server}".` })
})

callback.get('/', async (c) => {
  const browser = getCookie(c, COOKIE)
  const end = await serviceOf(c).finish(new URL(c.req.url).search, browser)
  return c.text('server' in end ? textFor(end) : end.error, 'server' in end ? 200 : 400, {
    'cache-control': 'no-store',
    // The address contains the authorization code, which no other site may see.
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
})

/**
 * The cookie that proves which browser asked for a sign-in. Its prefix has browsers take it from this host alone, so that
 * nobody can give it to the browser of somebody else.
 */
const COOKIE = '__Host-edgecall-sign-in'
const COOKIE_TERMS = 'Path=/; Max-Age=900; Secure; HttpOnly; SameSite=Lax'

/** Returns what a person reads who has come back from an authorization server. */
function textFor({ server, code }: { readonly server: string; readonly code?: string }): string {
  if (code === undefined) return `You are connected to ${server}. You can close this page.`
  return `The sign-in to ${server} was asked for elsewhere. If you asked for it, enter this code there: ${code}

If somebody sent you the link, close this page: with the code, they could use your account.`
}

/** Reads the authorization server that a person accepts, from a body that may be absent. */
async function readIssuer({ req, env }: Context<EdgeEnv>): Promise<string | undefined> {
  if (req.header('content-type') === undefined) return undefined
  const { issuer } = fieldsOf(await readJson(req.raw, env.setup.config.maxBodyBytes))
  if (issuer === undefined || typeof issuer === 'string') return issuer
  const message = 'The issuer of an authorization server is a string.'
  throw new Problem({ status: 422, code: 'invalid_request', message, param: 'issuer' })
}

/** Returns whose connection a request is about, by `?owner=`, if the caller may change it. */
function writableOwner(c: Context<EdgeEnv>): string {
  const { caller } = c.env
  const wanted = c.req.query('owner') ?? (caller.scopes.includes('tools:admin') ? 'edge' : 'tenant')
  if (wanted !== 'edge' && wanted !== 'tenant') {
    const message = 'The owner of a connection is "edge" or "tenant".'
    throw new Problem({ status: 400, code: 'invalid_request', message, param: 'owner' })
  }
  requireScope(caller, wanted === 'edge' ? 'tools:admin' : 'tools:write')
  return wanted === 'edge' ? EDGE_OWNER : caller.tenant
}

function serviceOf({ env }: Context<EdgeEnv>): ConnectionService {
  const { connections: service } = env.setup
  if (service) return service
  throw new Problem({ status: 404, code: 'not_found', message: 'This edge is connected to no other servers.' })
}
