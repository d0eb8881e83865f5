import { beforeAll, describe, expect, test } from 'vitest'
import { BODIES, fill, type Route, ROUTES } from './routes.ts'
import { KEYS, type KeyKind, openWorld, SCOPES, type Targets, type World } from './world.ts'

/**
 * The matrix of routes and keys. Its rows come from the OpenAPI document, so a new route is in it by itself; where that
 * needs a body, its schema needs one in `BODIES`.
 */

/** Targets that nobody has. They are as long as real ones. */
function unknown(targets: Targets): Targets {
  const change = (text: string) => text.slice(0, -4) + (text.endsWith('zzzz') ? 'yyyy' : 'zzzz')
  return {
    conversation: 'none',
    run: change(targets.run),
    call: change(targets.call),
    response: targets.response.replace(/[A-Za-z0-9]{4}$/, 'zzzz'),
    tool: 'answer00',
    hash: change(targets.hash),
    key: 'other-key',
    schedule: 'rep000',
  }
}

/** The status and body of an answer, without the targets' names, ids and times. */
async function answer(world: World, route: Route, key: KeyKind, targets: Targets): Promise<string> {
  const { path, init } = fill(route, targets)
  const response = await world.ask(path, key, init)
  const names = Object.values(targets).sort((a, b) => b.length - a.length)
  const body = names.reduce((text, name) => text.replaceAll(name, '<target>'), await response.text())
  const plain = body
    .replaceAll(/\b(?:run|conv|call|resp|msg|req|chatcmpl|item|rs|fc)_\w+/g, '<id>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replaceAll(/"(?:created(?:_at)?|at|timestamp|durationMs|completed_at)":\d+/g, '<time>')
  return `${response.status} ${plain}`
}

const isOf = (status: number, code: string) => (text: string) => text.startsWith(`${status} `) && text.includes(code)

const KEYED = ROUTES.filter(({ scopes }) => scopes !== undefined)
const name = ({ method, path }: Route) => `${method} ${path}`

describe('the matrix of routes and keys', () => {
  let world: World
  let targetValues: Targets
  let none: Targets
  beforeAll(async () => {
    world = await openWorld()
    targetValues = world.targets
    none = unknown(targetValues)
  })

  test('has all routes of the document and a body for each that takes one', () => {
    expect(ROUTES.length).toBeGreaterThan(35)
    expect(ROUTES.filter(({ scopes }) => scopes === undefined).map(name)).toEqual([
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /connections/callback',
      'GET /health',
      'GET /openapi.json',
      'GET /',
      'POST /outcomes/{token}',
    ])
    expect(KEYED.filter(({ scopes }) => scopes?.length === 0).map(name)).toEqual(['GET /caller'])
    expect(KEYED.filter(({ body }) => body !== undefined && !BODIES[body]).map(name)).toEqual([])
  })

  describe.each(KEYED.map((route) => [name(route), route] as const))('%s', (_, route) => {
    test('refuses missing, wrong, disabled and expired keys alike, whatever they ask for', async () => {
      const refusals = { none: 'unauthorized', wrong: 'unauthorized', disabled: 'key_disabled', expired: 'key_expired' }
      for (const [kind, code] of Object.entries(refusals)) {
        const texts = await Promise.all(
          [targetValues, none].map((targets) => answer(world, route, kind as KeyKind, targets)),
        )
        if (route.path === '/mcp') expect(texts[0]).toMatch(/^401 /)
        else expect(isOf(401, `"${code}"`)(texts[0] ?? ''), texts[0]).toBe(true)
        expect(texts[1]).toBe(texts[0])
      }
    })

    test('refuses keys without its scope alike, whatever they ask for', async () => {
      const { scopes = [] } = route
      // Any key may ask what it may do.
      if (scopes.length === 0) return
      // A decision needs `approve` alone, `/mcp` and the request of a step all of their scopes; `tools:admin` writes the edge's own definitions.
      const isEnough = (scope: string) =>
        route.body === 'CallAnswer'
          ? scope === 'approve'
          : scopes.includes(scope) || (scope === 'tools:admin' && scopes.includes('tools:write'))
      const needsAll = route.path === '/mcp' || /\/(?:request|faults)$/.test(route.path)
      for (const scope of SCOPES.filter((each) => needsAll || !isEnough(each))) {
        const texts = await Promise.all([targetValues, none].map((targets) => answer(world, route, scope, targets)))
        expect(texts[0], scope).toMatch(/^403 /)
        expect(texts[1]).toBe(texts[0])
      }
    })

    test('answers another tenant as if what is not its own were not there', async () => {
      // Each in a world of its own: what the first request makes must not be there for the second.
      const worlds = await Promise.all([openWorld(), openWorld()])
      const texts = [
        await answer(worlds[0], route, 'other', worlds[0].targets),
        await answer(worlds[1], route, 'other', unknown(worlds[1].targets)),
      ]
      expect(texts[0]).toBe(texts[1])
      expect(texts[0]).not.toMatch(/^(?:401|5)/)
    })
  })

  test('has targets that their owner reaches', async () => {
    const own = await openWorld()
    // The owner has the scopes of a tenant; test/http/step-request.test.ts is about the route for operators.
    const reached = KEYED.filter(
      ({ path, method, scopes }) => /\{/.test(path) && method === 'GET' && !scopes?.includes('tools:admin'),
    )
    for (const route of reached) {
      const text = await answer(own, route, 'owner', own.targets)
      expect(/^20[04] /.test(text), `${name(route)}: ${text}`).toBe(true)
      // A page asks for a chat before its first message.
      const isEmptyAtFirst = /^\/(?:chat|ag-ui)\/\{id\}$/.test(route.path)
      if (!route.path.startsWith('/v1/models') && !route.path.endsWith('/stream') && !isEmptyAtFirst)
        expect(await answer(own, route, 'owner', unknown(own.targets)), name(route)).toMatch(/^404 /)
    }
  })

  test('has no route of its own that ignores a parameter', async () => {
    const own = await openWorld()
    // Those of others' protocols take what their clients send.
    const ofOthers = /^\/(?:v1|mcp|chat|metrics|openapi\.json|backups)\b/
    const routes = KEYED.filter(({ path, method }) => method === 'GET' && !ofOthers.test(path))
    expect(routes.length).toBeGreaterThan(15)
    for (const route of routes) {
      const { path, init } = fill(route, own.targets)
      const kind = route.scopes?.some((scope) => /admin|keys|schedules/.test(scope)) ? 'operator' : 'owner'
      const response = await own.ask(`${path}?wait=20`, kind, init)
      const problem = { status: 400, code: 'invalid_request', param: 'wait', detail: expect.stringContaining('"wait"') }
      expect(await response.json(), name(route)).toEqual(problem)
    }
  })

  test('is of all kinds of keys', () => {
    expect(KEYS).toEqual(['none', 'wrong', 'disabled', 'expired', ...SCOPES, 'other', 'owner'])
  })
})

test('routes without a key answer everybody alike', async () => {
  const world = await openWorld()
  for (const route of ROUTES.filter(({ scopes }) => scopes === undefined)) {
    const texts = await Promise.all(KEYS.map((kind) => answer(world, route, kind, world.targets)))
    expect(new Set(texts).size).toBe(1)
  }
})
