import * as v from 'valibot'
import { defineTool, ToolError } from 'edgecall/tool'
import { formatDate, formatOffset, formatTime, parseIso } from './iso.ts'
import { addCalendar, isTimeZone, offsetAt, toInstant, toWall } from './zoned.ts'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

const EARLIEST = Date.parse('0001-01-02T00:00:00Z')
const LATEST = Date.parse('9999-12-30T23:59:59Z')

const timeZone = v.optional(
  v.pipe(
    v.string(),
    v.description(
      'IANA time zone, such as "Europe/Paris", "Asia/Kathmandu" or "UTC". Leave it out to use the zone of the user.',
    ),
  ),
)

const reading = {
  timeZone: v.string(),
  dateTime: v.pipe(v.string(), v.description('ISO 8601 with UTC offset, to the second.')),
  date: v.pipe(v.string(), v.description('YYYY-MM-DD')),
  time: v.pipe(v.string(), v.description('HH:MM:SS, 24 hours')),
  weekday: v.string(),
  utcOffset: v.pipe(v.string(), v.description('±HH:MM')),
}

/** Tells the current time in a time zone. */
export const currentTime = defineTool({
  name: 'currentTime',
  title: 'Current time',
  description:
    'Tells the current date, time and weekday in a time zone. Use it whenever an answer depends on now or today: ' +
    'you do not know the time by yourself. Answers the zone, the ISO 8601 date-time with its UTC offset, and its ' +
    'date, time, weekday and offset apart.',
  input: v.strictObject({ timeZone }),
  output: v.object(reading),
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: (input, { values }) => readClock(Date.now(), zoneOf(input.timeZone, values)),
})

/** Adds calendar amounts and exact amounts of time to a moment. */
export const shiftTime = defineTool({
  name: 'shiftTime',
  title: 'Shift a time',
  description:
    'Adds or subtracts years, months, weeks, days, hours, minutes and seconds from a moment, and tells the date, time ' +
    'and weekday it comes to. Use it for every date calculation (“in 90 minutes”, “three months before 31 May”) ' +
    'instead of counting by yourself; with no amounts it converts a moment to another time zone. Years, months, weeks ' +
    'and days move the local calendar date and keep the time of day: a day that the month lacks becomes its last one, ' +
    'a time of day that clocks skip moves later by the gap, one that comes twice is the first. Hours, minutes and ' +
    'seconds are then added as exact elapsed time.',
  input: v.strictObject({
    from: v.optional(
      v.pipe(
        v.string(),
        v.description(
          'Start: ISO 8601 date ("2026-03-01", its midnight) or date-time ("2026-03-01T09:30"), read in the time ' +
            'zone unless it carries its own offset or Z. Leave it out to start from now.',
        ),
      ),
    ),
    years: amount('Calendar years'),
    months: amount('Calendar months'),
    weeks: amount('Calendar weeks'),
    days: amount('Calendar days'),
    hours: amount('Exact hours'),
    minutes: amount('Exact minutes'),
    seconds: amount('Exact seconds'),
    timeZone,
  }),
  output: v.object({ from: v.pipe(v.string(), v.description('The start, in the same zone.')), ...reading }),
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: (input, { values }) => {
    const { years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0 } = input
    const zone = zoneOf(input.timeZone, values)
    const start = inRange(input.from === undefined ? Date.now() : startOf(input.from, zone))
    // The round trip through the wall clock is for calendar amounts only: in the night when clocks are set back, it
    // would turn the second 01:30 into the first.
    const onCalendar = [years, months, weeks, days].some((amount) => amount !== 0)
    const moved = onCalendar ? addCalendar(toWall(start, zone), { years, months, weeks, days }) : start
    const landed = onCalendar ? toInstant(inRange(moved), zone) : moved
    const end = inRange(landed + (hours * 3600 + minutes * 60 + seconds) * 1000)
    return { from: readClock(start, zone).dateTime, ...readClock(end, zone) }
  },
})

function amount(unit: string) {
  return v.optional(v.pipe(v.number(), v.integer(), v.description(`${unit} to add; negative goes back.`)))
}

/** Returns the zone of the argument, else of the tool context, else UTC. Throws a ToolError for an unknown zone. */
function zoneOf(name: string | undefined, values: Readonly<Record<string, unknown>>): string {
  if (name !== undefined) {
    if (isTimeZone(name)) return name
    throw new ToolError(
      `There is no time zone "${name}". Send an IANA name such as "Europe/Paris", "America/New_York" or "UTC".`,
      { code: 'unknown_time_zone' },
    )
  }
  const fallback = values['timeZone'] ?? 'UTC'
  if (typeof fallback === 'string' && isTimeZone(fallback)) return fallback
  throw new ToolError('The time zone of the user is unknown: send `timeZone`, an IANA name such as "Europe/Paris".', {
    code: 'unknown_time_zone',
  })
}

function startOf(from: string, zone: string): number {
  const reading = parseIso(from)
  if (!reading) {
    throw new ToolError(
      `"${from}" is not a date or time. Send \`from\` as ISO 8601, such as "2026-03-01" or "2026-03-01T09:30:00+01:00".`,
      { code: 'invalid_time' },
    )
  }
  return reading.offset === undefined ? toInstant(inRange(reading.wall), zone) : reading.wall - reading.offset
}

/** Returns its argument. Throws a ToolError for NaN and outside the years 1 to 9999, which Intl and ISO dates cover. */
function inRange(instantOrWall: number): number {
  if (instantOrWall >= EARLIEST && instantOrWall <= LATEST) return instantOrWall
  throw new ToolError('The time is out of range: stay within the years 1 to 9999.', { code: 'time_out_of_range' })
}

function readClock(instant: number, zone: string) {
  const offset = offsetAt(instant, zone)
  const wall = instant + offset
  const [date, time, utcOffset] = [formatDate(wall), formatTime(wall), formatOffset(offset)]
  const weekday = WEEKDAYS[new Date(wall).getUTCDay()]
  return { timeZone: zone, dateTime: `${date}T${time}${utcOffset}`, date, time, weekday, utcOffset }
}
