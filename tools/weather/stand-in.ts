/**
 * A fake forecast service for development and tests: the contract of `service.ts` as a function like `fetch`. An answer
 * depends on the place and the date only, and is marked `source: "stand-in"`. Special places simulate failures:
 *
 *     Slowville, Slowville 250    answers after 3000, or the given number of, milliseconds (60000 at most)
 *     Stormbreak                  500
 *     Garbleton                   200 with a body that is not JSON
 *     Nowhere                     404, as does an empty place
 */
import { pause } from 'edgecall/tool'

const SLOW_MS = 3000
const SLOWEST_MS = 60_000

const SUMMARIES = ['Clear skies', 'Sunny spells', 'Cloudy', 'Overcast', 'Light rain', 'Showers', 'Heavy rain']
const DRY_SUMMARIES = 4

/** Answers a request. Rejects with the signal's reason when the signal aborts, as `fetch` does. */
export async function standIn(
  input: URL | string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Response> {
  signal?.throwIfAborted()
  const url = new URL(input)
  const place = url.searchParams.get('place')?.trim() ?? ''
  const date = url.searchParams.get('date') ?? ''
  if (!url.pathname.endsWith('/forecast')) return Response.json({ error: 'no such page' }, { status: 404 })
  const [, slow, delay] = /^(slowville)(?: (\d{1,5}))?$/i.exec(place) ?? []
  if (slow) await pause(Math.min(Number(delay ?? SLOW_MS), SLOWEST_MS), signal)
  signal?.throwIfAborted()
  switch (place.toLowerCase()) {
    case '':
    case 'nowhere':
      return Response.json({ error: 'no such place' }, { status: 404 })
    case 'stormbreak':
      return Response.json({ error: 'the mast is down' }, { status: 500 })
    case 'garbleton':
      return new Response('<p>Partly legible</p>', { headers: { 'content-type': 'application/json' } })
    default:
      return Response.json(weatherOf(place, date))
  }
}

function weatherOf(place: string, date: string) {
  const draw = dice(`${place.toLowerCase()} ${date}`)
  const temperatureMinC = draw(30) - 8
  const sky = draw(SUMMARIES.length)
  const dry = sky < DRY_SUMMARIES
  return {
    place,
    date,
    summary: SUMMARIES[sky],
    temperatureMinC,
    temperatureMaxC: temperatureMinC + 3 + draw(10),
    precipitationMm: dry ? 0 : (draw(200) + 5) / 10,
    precipitationProbability: dry ? draw(30) : 50 + draw(51),
    source: 'stand-in',
  }
}

/** Returns a pseudo-random generator of integers from 0 to `faces - 1`, seeded with a text (FNV-1a, then xorshift). */
function dice(seed: string): (faces: number) => number {
  let state = 2_166_136_261
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619)
  return (faces) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % faces
  }
}
