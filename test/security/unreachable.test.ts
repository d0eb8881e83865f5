import { beforeAll, describe, expect, test } from 'vitest'
import { fill, type Route, ROUTES } from './routes.ts'
import { openWorld, type World } from './world.ts'

const OVERLOADED = Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true, retryable: true })
const LOST = Object.assign(new Error('Network connection lost.'), { retryable: true })

/** The routes that ask no Durable Object for these requests, with the statuses of their answers. */
const INDEPENDENT: Readonly<Record<string, number>> = {
  'GET /v1/models': 200,
  'GET /v1/models/{name}': 200,
  'POST /v1/messages/count_tokens': 200,
  // The model makes no embeddings.
  'POST /v1/embeddings': 404,
  // The tool is read from KV.
  'GET /mcp': 405,
  'POST /mcp': 200,
  'GET /tools': 200,
  'GET /tools/{name}': 200,
  'POST /tools/{name}/check': 200,
  'POST /tools/{name}/call': 200,
  // It has no definition that waits for acceptance.
  'POST /tools/{name}/accept': 409,
  // A run without a conversation.
  'POST /runs': 200,
  // The edge of the test has no `tools/mcp`.
  'GET /connections': 404,
  'POST /connections/{server}': 404,
  'PUT /connections/{server}': 404,
  'DELETE /connections/{server}': 404,
  // What a key may do is in its terms.
  'GET /caller': 200,
  // Keys are read from KV; an object orders their changes.
  'GET /keys': 200,
}

const name = ({ method, path }: Route) => `${method} ${path}`
const KEYED = ROUTES.filter(({ scopes }) => scopes !== undefined)

/** The routes of the OpenAPI document while no Durable Object can be reached. A new route is among them by itself. */
describe.each([
  ['overloaded', OVERLOADED, '5', /^(?:conversation_)?overloaded$/],
  ['lost', LOST, '1', /^(?:conversation|connection)_lost$/],
])('while every object is %s', (_, error, seconds, codes) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
    world.failObjects(error)
  })

  test.each(KEYED.filter((route) => !(name(route) in INDEPENDENT)).map((route) => [name(route), route] as const))(
    '%s is answered 503 with the time after which to try again',
    async (_, route) => {
      const { path, init } = fill(route, world.targets)
      const response = await world.ask(path, 'operator', init)
      const { headers, status } = response
      const body: any = await response.json()
      // Anthropic has a status of its own for overload.
      const isOverload = error === OVERLOADED && route.path.startsWith('/v1/messages')
      expect([status, headers.get('retry-after')]).toEqual([isOverload ? 529 : 503, seconds])
      expect(headers.get('x-should-retry')).toMatch(/^(?:true|false)$/)
      expect(body.code ?? body.error.code ?? body.error.details.error_code).toMatch(codes)
      if (route.method === 'GET') expect(headers.get('x-should-retry')).toBe('true')
    },
  )

  test('the other routes are answered as ever', async () => {
    const answers = KEYED.filter((route) => name(route) in INDEPENDENT).map(async (route) => {
      const { path, init } = fill(route, world.targets)
      return [name(route), (await world.ask(path, 'operator', init)).status]
    })
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(INDEPENDENT)
  })
})

test('a rollback whose answer is lost is not sent again by an SDK, since it may have taken effect', async () => {
  const world = await openWorld()
  world.failObjects(LOST)
  const { tool, hash } = world.targets
  const response = await world.ask(`/tools/${tool}/rollback`, 'operator', { method: 'POST', json: { hash } })
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false'])
})
