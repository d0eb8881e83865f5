/** Arithmetic on dates written YYYY-MM-DD, whose text order is their order in time. */

const DAY = 86_400_000

/** Tells whether a text is a date that exists; 30 February does not. */
export function isDay(text: string): boolean {
  const start = startOf(text)
  return !Number.isNaN(start) && isoDay(start) === text
}

export function addDays(day: string, count: number): string {
  return isoDay(startOf(day) + count * DAY)
}

/** Returns each night of a stay, as the date on which it begins. */
export function nightsOf(checkIn: string, checkOut: string): string[] {
  const count = Math.max(0, (startOf(checkOut) - startOf(checkIn)) / DAY)
  return Array.from({ length: count }, (_, night) => addDays(checkIn, night))
}

/** Returns today's date in UTC. */
export function today(): string {
  return isoDay(Date.now())
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`)
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
