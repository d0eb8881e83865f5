/**
 * Asks the forecast service, over HTTP. Its contract:
 *
 *     GET {WEATHER_URL}/forecast?place=Lisbon&date=2026-11-20
 *     200  { "place": "Lisbon", "date": "2026-11-20", "summary": "Light rain", "temperatureMinC": 12.5,
 *            "temperatureMaxC": 17, "precipitationMm": 3.2, "precipitationProbability": 80, "source"?: "met-office" }
 *     404  the place is unknown
 *
 * The probability is 0 to 100. Without a `source`, the service's host is the source. Any other status or body counts as
 * a failure of the service.
 */
import * as v from 'valibot'
import { OutOfTime, ToolError, wholeNumber, withTimeLimit } from 'edgecall/tool'
import { standIn } from './stand-in.ts'

export interface WeatherEnv {
  readonly WEATHER_URL?: string
  readonly WEATHER_TIMEOUT_MS?: string
}

export interface Forecast {
  readonly place: string
  readonly date: string
  readonly summary: string
  readonly temperatureMinC: number
  readonly temperatureMaxC: number
  readonly precipitationMm: number
  readonly precipitationProbability: number
  readonly source: string
}

// A model reads these texts, so a faulty service must not be able to fill its context window.
const text = v.pipe(v.string(), v.maxLength(200))

const Answer = v.object({
  place: text,
  date: text,
  summary: text,
  temperatureMinC: v.number(),
  temperatureMaxC: v.number(),
  precipitationMm: v.pipe(v.number(), v.minValue(0)),
  precipitationProbability: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  source: v.optional(text),
})

const STAND_IN_URL = 'http://stand-in'
const TIMEOUT_MS = 5000

/** Asks the service at WEATHER_URL, or the stand-in if that is not set. Throws a ToolError for every failure. */
export async function askForecast(
  place: string,
  date: string,
  { env, signal }: { readonly env: WeatherEnv; readonly signal: AbortSignal },
): Promise<Forecast> {
  const { url, timeoutMs } = settingsOf(env)
  url.search = new URLSearchParams({ place, date }).toString()
  const ask = env.WEATHER_URL ? fetch : standIn
  try {
    const json = await withTimeLimit(
      timeoutMs,
      async (within) => {
        const response = await ask(url, { redirect: 'manual', signal: within })
        if (response.ok) return await response.json()
        await response.body?.cancel()
        throw response.status === 404 ? unknownPlace(place) : unavailable(`it answered HTTP ${response.status}`)
      },
      signal,
    )
    const answer = v.parse(Answer, json)
    return { ...answer, source: answer.source ?? url.host }
  } catch (error) {
    throw error instanceof ToolError ? error : failureOf(error, signal)
  }
}

function settingsOf(env: WeatherEnv): { readonly url: URL; readonly timeoutMs: number } {
  try {
    const url = new URL(`${(env.WEATHER_URL || STAND_IN_URL).replace(/\/+$/, '')}/forecast`)
    return { url, timeoutMs: wholeNumber({ ...env }, 'WEATHER_TIMEOUT_MS', TIMEOUT_MS) }
  } catch (cause) {
    const message = 'The forecast service is misconfigured. Trying again will not help.'
    throw new ToolError(message, { code: 'weather_misconfigured', cause })
  }
}

function failureOf(error: unknown, signal: AbortSignal): ToolError {
  if (signal.aborted) return new ToolError('The forecast was cancelled.', { code: 'cancelled', cause: error })
  if (error instanceof OutOfTime) {
    return new ToolError('The forecast service took too long to answer. Try again later.', {
      code: 'weather_timeout',
      retryable: true,
      cause: error,
    })
  }
  const garbled = error instanceof SyntaxError || v.isValiError(error)
  return unavailable(garbled ? 'its answer is not a forecast' : 'it could not be reached', error)
}

function unknownPlace(place: string): ToolError {
  return new ToolError(
    `The forecast service knows no place called "${place}". Check the spelling, or add the country, as in "Lisbon, Portugal".`,
    { code: 'unknown_place' },
  )
}

function unavailable(why: string, cause?: unknown): ToolError {
  return new ToolError(`The forecast service is not available now: ${why}. Try again later.`, {
    code: 'weather_unavailable',
    retryable: true,
    cause,
  })
}
