import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Progress } from '../../src/contract/tool.ts'
import type { RunContext } from '../../src/tool.ts'
import type { WeatherEnv } from './service.ts'
import { standIn } from './stand-in.ts'
import { forecast } from './tools.ts'
import { freezeClock } from '../../test/fixtures/frozen-clock.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

freezeClock('2026-11-20T23:30:00Z')

async function ask(input: Record<string, unknown>, env: WeatherEnv = {}, parts: Partial<RunContext<WeatherEnv>> = {}) {
  const outcome = await forecast.call(input, runContext(env, parts))
  if (outcome.ok) return outcome.structured
  // What operators read differs by where it went wrong.
  const { detail: _, ...told } = outcome.error
  return told
}

describe('the weather without a service', () => {
  test('comes from the stand-in, which says so', async () => {
    expect(await ask({ place: ' Lisbon ' })).toEqual({
      place: 'Lisbon',
      date: '2026-11-20',
      summary: expect.any(String),
      temperatureMinC: expect.any(Number),
      temperatureMaxC: expect.any(Number),
      precipitationMm: expect.any(Number),
      precipitationProbability: expect.any(Number),
      source: 'stand-in',
    })
  })

  test('is the same for the same place and day, and differs on other days', async () => {
    const [once, repeat, shouted, tomorrow] = await Promise.all([
      ask({ place: 'Lisbon' }),
      ask({ place: 'Lisbon', date: '2026-11-20' }),
      ask({ place: 'LISBON' }),
      ask({ place: 'Lisbon', date: '2026-11-21' }),
    ])
    expect(repeat).toEqual(once)
    expect({ ...(shouted as object), place: 'Lisbon' }).toEqual(once)
    expect({ ...(tomorrow as object), date: '2026-11-20' }).not.toEqual(once)
  })

  test('is possible weather', async () => {
    const dates = Array.from({ length: 8 }, (_, day) => `2026-11-${20 + day}`)
    const places = ['Lisbon', 'Oslo', 'Nairobi', 'Lima', 'Perth', 'Québec', '東京']
    const firstResponse = await Promise.all(places.flatMap((place) => dates.map((date) => ask({ place, date }))))
    for (const answer of firstResponse as Record<string, number>[]) {
      expect(answer['temperatureMaxC']).toBeGreaterThan(answer['temperatureMinC']!)
      expect(answer['precipitationProbability']).toBeLessThanOrEqual(100)
      expect(answer['precipitationMm']! > 0).toBe(answer['precipitationProbability']! >= 50)
    }
  })
})

describe('the date of a forecast', () => {
  test('defaults to today in the zone of the tool context', async () => {
    expect(await ask({ place: 'Oslo' }, {}, { values: { timeZone: 'Asia/Tokyo' } })).toMatchObject({
      date: '2026-11-21',
    })
    expect(await ask({ place: 'Oslo' }, {}, { values: { timeZone: 'Nowhere' } })).toMatchObject({ date: '2026-11-20' })
  })

  test('may be seven days ahead', async () => {
    expect(await ask({ place: 'Oslo', date: '2026-11-27' })).toMatchObject({ date: '2026-11-27' })
  })

  test.each(['2026-11-19', '2026-11-28', '2026-11-31', 'tomorrow', '2026-11-21T10:00'])(
    'is refused when it is %s',
    async (date) => {
      expect(await ask({ place: 'Oslo', date })).toEqual({
        code: 'invalid_date',
        message: `There is no forecast for "${date}". Send \`date\` as YYYY-MM-DD, from today, 2026-11-20, to 2026-11-27.`,
      })
    },
  )
})

test('the weather tool reports its progress', async () => {
  const news: (Progress | string)[] = []
  await ask({ place: 'Oslo' }, {}, { progress: (progress) => news.push(progress) })
  expect(news).toEqual(['Asking for the weather of Oslo on 2026-11-20'])
})

const paths: string[] = []
/** What the server answers to `Elsewhere`, in place of the stand-in. */
let body = ''

async function answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
  paths.push(url)
  const reply = url.includes('Elsewhere') ? new Response(body) : await standIn(`http://localhost${url}`)
  response.writeHead(reply.status).end(await reply.text())
}

describe('the weather over HTTP', () => {
  let server: Server
  let env: WeatherEnv
  beforeAll(async () => {
    server = createServer((request, response) => void answer(request, response))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    env = { WEATHER_URL: `http://127.0.0.1:${typeof address === 'object' && address?.port}/v1/` }
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  test('is requested for the place and the date', async () => {
    expect(await ask({ place: 'São Paulo & co', date: '2026-11-22' }, env)).toMatchObject({
      place: 'São Paulo & co',
      date: '2026-11-22',
      source: 'stand-in',
    })
    expect(paths.at(-1)).toBe('/v1/forecast?place=S%C3%A3o+Paulo+%26+co&date=2026-11-22')
  })

  test('names the host of a service that does not name itself', async () => {
    const weather = {
      place: 'Elsewhere',
      date: '2026-11-20',
      summary: 'Fog',
      temperatureMinC: 1.5,
      temperatureMaxC: 4,
      precipitationMm: 0,
      precipitationProbability: 5,
    }
    body = JSON.stringify({ ...weather, advert: 'Buy umbrellas' })
    expect(await ask({ place: 'Elsewhere' }, env)).toEqual({ ...weather, source: new URL(env.WEATHER_URL!).host })
  })

  test.each([
    [
      'Nowhere',
      {
        code: 'unknown_place',
        message:
          'The forecast service knows no place called "Nowhere". Check the spelling, or add the country, as in "Lisbon, Portugal".',
      },
    ],
    [
      'Stormbreak',
      {
        code: 'weather_unavailable',
        message: 'The forecast service is not available now: it answered HTTP 500. Try again later.',
        retryable: true,
      },
    ],
    [
      'Garbleton',
      {
        code: 'weather_unavailable',
        message: 'The forecast service is not available now: its answer is not a forecast. Try again later.',
        retryable: true,
      },
    ],
  ])('fails with advice after %s', async (place, error) => {
    expect(await ask({ place }, env)).toEqual(error)
    expect(await ask({ place })).toEqual(error)
  })

  test.each(['[]', '{}', '{"place":"Elsewhere","temperatureMinC":"warm"}'])(
    'is refused as a forecast if it is %s',
    async (json) => {
      body = json
      expect(await ask({ place: 'Elsewhere' }, env)).toMatchObject({
        code: 'weather_unavailable',
        message: expect.stringContaining('its answer is not a forecast'),
      })
    },
  )

  test('fails after the time limit', async () => {
    const slow = {
      code: 'weather_timeout',
      message: 'The forecast service took too long to answer. Try again later.',
      retryable: true,
    }
    expect(await ask({ place: 'Slowville' }, { ...env, WEATHER_TIMEOUT_MS: '30' })).toEqual(slow)
    expect(await ask({ place: 'Slowville' }, { WEATHER_TIMEOUT_MS: '30' })).toEqual(slow)
    expect(await ask({ place: 'Slowville 20' }, env)).toMatchObject({ place: 'Slowville 20' })
  })

  test.each([{ WEATHER_TIMEOUT_MS: 'abc' }, { WEATHER_TIMEOUT_MS: '-5' }, { WEATHER_URL: 'weather.example.com' }])(
    'reports that it is not set up: %j',
    async (wrong) => {
      expect(await ask({ place: 'Lisbon' }, { ...env, ...wrong })).toEqual({
        code: 'weather_misconfigured',
        message: 'The forecast service is misconfigured. Trying again will not help.',
      })
    },
  )

  test('aborts its request when the caller leaves', async () => {
    const wanted = new AbortController()
    const pending = ask({ place: 'Slowville' }, env, { signal: wanted.signal, progress: () => wanted.abort() })
    expect(await pending).toEqual({ code: 'cancelled', message: 'The forecast was cancelled.' })
  })

  test('reports that the service cannot be reached', async () => {
    expect(await ask({ place: 'Lisbon' }, { WEATHER_URL: 'http://127.0.0.1:1' })).toMatchObject({
      code: 'weather_unavailable',
      message: expect.stringContaining('it could not be reached'),
    })
  })
})
