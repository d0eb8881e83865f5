/** Days as YYYY-MM-DD, which sort as text. */

const DAY = 86_400_000

/** True for a day that there is: not for 30 February. */
export function isDay(text: string): boolean {
  const start = startOf(text)
  return !Number.isNaN(start) && isoDay(start) === text
}

export function addDays(day: string, count: number): string {
  return isoDay(startOf(day) + count * DAY)
}

/** Each night of a stay, by the day on which it begins. */
export function nightsOf(checkIn: string, checkOut: string): string[] {
  const count = Math.max(0, (startOf(checkOut) - startOf(checkIn)) / DAY)
  return Array.from({ length: count }, (_, night) => addDays(checkIn, night))
}

/** Today, in UTC. */
export function today(): string {
  return isoDay(Date.now())
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`)
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
