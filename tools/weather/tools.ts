import * as v from 'valibot'
import { defineTool, type RunContext, ToolError } from 'edgecall/tool'
import { askForecast, type WeatherEnv } from './service.ts'

const DAY = 86_400_000
const DAYS_AHEAD = 7

/** Forecasts the weather of one place for one day. */
export const forecast = defineTool({
  name: 'forecast',
  title: 'Weather forecast',
  description:
    'Forecasts the weather of a place for one day, today or up to 7 days ahead. Use it for any question on weather, ' +
    'temperature, rain or what to wear; ask once for each place and day. Answers a summary, the lowest and highest ' +
    'temperature in °C, rain or snow in mm and its probability in percent, and the source; a source of "stand-in" ' +
    'means made-up weather for demonstration: say so.',
  input: v.strictObject({
    place: v.pipe(
      v.string(),
      v.regex(/\S/),
      v.maxLength(100),
      v.description('Town or city, with its country where the name is common: "Lisbon", "Paris, Texas, USA".'),
    ),
    date: v.optional(
      v.pipe(v.string(), v.description('Day as YYYY-MM-DD, at most 7 days ahead. Leave it out for today.')),
    ),
  }),
  output: v.object({
    place: v.string(),
    date: v.pipe(v.string(), v.description('YYYY-MM-DD')),
    summary: v.string(),
    temperatureMinC: v.number(),
    temperatureMaxC: v.number(),
    precipitationMm: v.number(),
    precipitationProbability: v.pipe(v.number(), v.description('Percent, 0 to 100.')),
    source: v.string(),
  }),
  annotations: { readOnly: true, idempotent: true, openWorld: true },
  run: ({ place: written, date }, context: RunContext<WeatherEnv>) => {
    const place = written.trim()
    const today = dayIn(context.values['timeZone'])
    const day = date === undefined ? today : dayWithin(date, today)
    context.progress(`Asking for the weather of ${place} on ${day}`)
    return askForecast(place, day, context)
  },
})

/** Returns today's date as YYYY-MM-DD, in the given time zone if it is a valid one, else in UTC. */
function dayIn(timeZone: unknown): string {
  try {
    // The Swedish locale writes dates as ISO 8601 does.
    return new Date().toLocaleDateString('sv-SE', { timeZone: typeof timeZone === 'string' ? timeZone : 'UTC' })
  } catch {
    return new Date().toISOString().slice(0, 10)
  }
}

function dayWithin(date: string, today: string): string {
  const ahead = (startOf(date) - startOf(today)) / DAY
  if (ahead >= 0 && ahead <= DAYS_AHEAD) return date
  const last = isoDay(startOf(today) + DAYS_AHEAD * DAY)
  throw new ToolError(
    `There is no forecast for "${date}". Send \`date\` as YYYY-MM-DD, from today, ${today}, to ${last}.`,
    { code: 'invalid_date' },
  )
}

/** Returns the start of a day in UTC, in epoch milliseconds, or NaN if the text is not a valid date. */
function startOf(date: string): number {
  const start = Date.parse(`${date}T00:00:00Z`)
  // Date.parse reads 30 February as 2 March.
  return Number.isNaN(start) || isoDay(start) !== date ? Number.NaN : start
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
