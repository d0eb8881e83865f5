/** ISO 8601, both ways, to whole seconds. A `wall` is as in `zoned.ts`. */

export interface IsoReading {
  readonly wall: number
  /** Milliseconds; absent where the text names no offset. */
  readonly offset?: number
}

const ISO =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,]\d+)?)?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d){1,2})?)?$/i

/**
 * Reads `2026-03-01`, `2026-03-01T09:30`, `2026-03-01T09:30:00.5+01:00`: a date alone is its midnight, and fractions
 * of a second are dropped. Undefined for anything else, and for a day, an hour or an offset that no calendar has.
 */
export function parseIso(text: string): IsoReading | undefined {
  const [, date, minutes = '00:00', seconds = '00', offset] = ISO.exec(text) ?? []
  const reading = `${date}T${minutes}:${seconds}`
  const wall = Date.parse(`${reading}Z`)
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 19) !== reading) return undefined
  return offset === undefined ? { wall } : { wall, offset: parseOffset(offset) }
}

function parseOffset(text: string): number {
  const [hours, minutes, seconds = 0] = (text.match(/\d\d/g) ?? ['0', '0']).map(Number)
  const offset = ((hours ?? 0) * 3600 + (minutes ?? 0) * 60 + seconds) * 1000
  return text.startsWith('-') ? -offset : offset
}

/** `2026-03-01`. */
export function formatDate(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10)
}

/** `09:30:00`. */
export function formatTime(wall: number): string {
  return new Date(wall).toISOString().slice(11, 19)
}

/** `+05:45`; with seconds where an old local mean time has some. */
export function formatOffset(offset: number): string {
  const time = formatTime(Math.abs(offset))
  return (offset < 0 ? '-' : '+') + (time.endsWith(':00') ? time.slice(0, 5) : time)
}
