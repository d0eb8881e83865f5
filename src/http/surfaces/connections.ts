import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { type ConnectionService, EDGE_OWNER } from '../../contract/connection.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeEnv } from '../context.ts'
import { Problem } from '../problem.ts'
import { readJson } from '../request-body.ts'
import { fieldsOf } from '../../wire/fields.ts'
import type { Surface } from '../surface.ts'

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
  if (!('error' in answer)) return c.json(answer)
  const { error, issuer } = answer
  if (issuer === undefined) throw new Problem({ status: 422, code: 'sign_in_failed', message: error })
  const message = `${error} If credentials may go there, send { "issuer": ${JSON.stringify(issuer)} }.`
  throw new Problem({ status: 409, code: 'issuer_not_accepted', message })
})

app.delete('/:server', async (c) => {
  const owner = writableOwner(c)
  const server = c.req.param('server')
  if (await serviceOf(c).disconnect(owner, server)) return c.body(null, 204)
  throw new Problem({ status: 404, code: 'unknown_connection', message: `There is no connection to "${server}".` })
})

callback.get('/', async (c) => {
  const answer = await serviceOf(c).finish(new URL(c.req.url).search)
  const text = 'server' in answer ? `You are connected to ${answer.server}. You can close this page.` : answer.error
  return c.text(text, 'server' in answer ? 200 : 400, {
    'cache-control': 'no-store',
    // The address contains the authorization code, which no other site may see.
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
})

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
