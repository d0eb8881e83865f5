const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/

/** A date-time in epoch milliseconds, or the reason why a text is not one. */
export type Moment = number | 'no-offset' | 'invalid'

/** Reads an ISO 8601 date-time such as `2026-11-20T09:30:00+01:00`; seconds may be left out. */
export function parseMoment(text: string): Moment {
  const [, minutes, seconds = '00', fraction = '', offset] = MOMENT.exec(text) ?? []
  const reading = `${minutes}:${seconds}`
  const wall = Date.parse(`${reading}Z`)
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(reading)) return 'invalid'
  if (offset === undefined) return 'no-offset'
  const moment = Date.parse(`${reading}${fraction}${offset}`)
  return Number.isNaN(moment) ? 'invalid' : moment
}
