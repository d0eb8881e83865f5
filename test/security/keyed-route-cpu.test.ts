import { describe, expect, test } from 'vitest'
import { bearer } from '../fixtures/keys.ts'
import { cpuTime } from './cpu-time.ts'
import { fill, ROUTES } from './routes.ts'
import { WORST, worstBodies } from './worst-bodies.ts'
import { openWorld } from './world.ts'

/**
 * What a body may cost on each route of the OpenAPI document that takes one, for a key with all scopes. A new route is here
 * by itself; its schema needs a line in `WORST`. Routes without a key are in `route-cpu.test.ts`.
 */

const MOST_BYTES = 1024 * 1024
/** The most CPU time of a body of the largest size, in milliseconds. A machine may be slow; what is quadratic takes more than ten seconds. */
const MOST_MS = 3000

const KEYED = ROUTES.filter(({ scopes, body }) => scopes !== undefined && body !== undefined)

test('each schema of the document has its worst bodies', () => {
  const schemas = new Set(ROUTES.flatMap(({ body }) => body ?? []))
  expect([...schemas].filter((schema) => !WORST[schema])).toEqual([])
})

describe.each(KEYED.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  test('takes at most three seconds of CPU for any body of 1 MiB', async () => {
    let world = await openWorld()
    let count = 0
    for (const [what, text] of worstBodies(route.body ?? '', world.targets, MOST_BYTES)) {
      // What earlier bodies have stored is not what this one costs.
      if (++count % 10 === 0) world = await openWorld()
      const { path, init } = fill(route, world.targets)
      // A run of the world waits for a person, and others wait for that one.
      const headers = { ...bearer('operator'), 'content-type': 'application/json', prefer: 'respond-async' }
      const url = new URL(path, 'http://127.0.0.1:8787')
      const { ms } = await cpuTime(MOST_MS, () => world.send(new Request(url, { ...init, headers, body: text })))
      if (ms > MOST_MS) expect.soft(`${what}: ${ms} ms`).toBe(`at most ${MOST_MS} ms`)
    }
  })
})
