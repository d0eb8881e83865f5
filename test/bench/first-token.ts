import { median } from './median.ts'
import type { ModelServer } from './model-server.ts'

const ROUNDS = 25
const REQUESTS = 40

/** How long a first token took, in milliseconds. */
interface Wait {
  /** From the model, which had just written it. */
  readonly fromModel: number
  /** From the request. */
  readonly fromRequest: number
}

/**
 * How much later the first token is here than from the hand-written loop, by turns; the medians of the rounds. The goal is
 * for the way from the model to the caller; what a loop does before it asks is in the time from the request.
 */
export async function benchFirstToken(url: URL, server: ModelServer): Promise<void> {
  const ways = [
    { path: '/there/raw', model: 'slow-8' },
    { path: '/edge/v1/chat/completions', model: 'openai/slow-8' },
  ] as const
  const medians: Wait[][] = ways.map(() => [])
  for (let round = 0; round <= ROUNDS; round++) {
    const waits: Wait[][] = ways.map(() => [])
    for (let sent = 0; sent < REQUESTS; sent++) {
      for (const [way, { path, model }] of ways.entries()) {
        waits[way]?.push(await waitFor(new URL(path, url), model, server))
      }
    }
    // The first round is not counted: isolates start in it.
    if (round > 0) for (const [way, each] of waits.entries()) medians[way]?.push(medianOf(each))
  }
  const [raw = [], edge = []] = medians
  const later = medianOf(
    edge.map(({ fromModel, fromRequest }, round) => ({
      fromModel: fromModel - (raw[round]?.fromModel ?? fromModel),
      fromRequest: fromRequest - (raw[round]?.fromRequest ?? fromRequest),
    })),
  )
  const [rawWait, edgeWait] = [medianOf(raw), medianOf(edge)]
  for (const [key, name, goal] of [
    ['fromModel', 'first token, from the model', ' (goal: 0.3)'],
    ['fromRequest', 'first token, from the request', ''],
  ] as const) {
    console.log(
      `${name.padEnd(30)} raw ${rawWait[key].toFixed(2)} ms  edge ${edgeWait[key].toFixed(2)} ms  ` +
        `${later[key].toFixed(2)} ms later${goal}`,
    )
  }
}

function medianOf(waits: readonly Wait[]): Wait {
  return {
    fromModel: median(waits.map(({ fromModel }) => fromModel)),
    fromRequest: median(waits.map(({ fromRequest }) => fromRequest)),
  }
}

/** The wait until a streamed answer says something. All rounds, since by default a preamble is held back. */
async function waitFor(url: URL, model: string, { spokeAt }: ModelServer): Promise<Wait> {
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'What is the square root of 2?' }],
    stream: true,
    edgecall: { tools: ['squareRoot'], rounds: 'all' },
  })
  const start = performance.now()
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  if (!response.ok || !response.body) throw new Error(`${url.pathname}: ${response.status} ${await response.text()}`)
  let text = ''
  let heard: number | undefined
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.includes('word')) heard ??= performance.now()
  }
  if (heard === undefined) throw new Error(`${url.pathname} said nothing: ${text}`)
  return { fromModel: heard - spokeAt(), fromRequest: heard - start }
}
