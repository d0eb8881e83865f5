/** Parses and formats ISO 8601, to whole seconds. `zoned.ts` defines what a `wall` is. */

export interface IsoReading {
  readonly wall: number
  /** The UTC offset in milliseconds; absent if the text has none. */
  readonly offset?: number
}

const ISO =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,]\d+)?)?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d){1,2})?)?$/i

/**
 * Parses `2026-03-01`, `2026-03-01T09:30`, `2026-03-01T09:30:00.5+01:00`. A date alone means its midnight; fractions of
 * a second are dropped. Returns undefined for any other text, and for a day, an hour or an offset that does not exist.
 */
export function parseIso(text: string): IsoReading | undefined {
  const [, date, minutes = '00:00', seconds = '00', offset] = ISO.exec(text) ?? []
  const reading = `${date}T${minutes}:${seconds}`
  const wall = Date.parse(`${reading}Z`)
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 19) !== reading) return undefined
  return offset === undefined ? { wall } : { wall, offset: parseOffset(offset) }
}

function parseOffset(text: string): number {
  const [hours, minutes, seconds = 0] = (text.match(/\d\d/g) ?? ['0', '0']).map(Number)
  const offset = ((hours ?? 0) * 3600 + (minutes ?? 0) * 60 + seconds) * 1000
  return text.startsWith('-') ? -offset : offset
}

/** Formats the date, such as `2026-03-01`. */
export function formatDate(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10)
}

/** Formats the time of day, such as `09:30:00`. */
export function formatTime(wall: number): string {
  return new Date(wall).toISOString().slice(11, 19)
}

/** Formats a UTC offset, such as `+05:45`; with seconds for an old local mean time that has them. */
export function formatOffset(offset: number): string {
  const time = formatTime(Math.abs(offset))
  return (offset < 0 ? '-' : '+') + (time.endsWith(':00') ? time.slice(0, 5) : time)
}
