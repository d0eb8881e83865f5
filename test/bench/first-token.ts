import { median } from './median.ts'

const ROUNDS = 9
const REQUESTS = 60

/** How much later the first token is here than from the hand-written loop, by turns; the median of the rounds. */
export async function benchFirstToken(url: URL): Promise<void> {
  const [raw, edge]: [number[], number[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const waits: [number[], number[]] = [[], []]
    for (let sent = 0; sent < REQUESTS; sent++) {
      waits[0].push(await waitFor(new URL('/there/raw', url), 'steps-0'))
      waits[1].push(await waitFor(new URL('/edge/v1/chat/completions', url), 'openai/steps-0'))
    }
    // The first round is not counted: isolates start in it.
    if (round === 0) continue
    raw.push(median(waits[0]))
    edge.push(median(waits[1]))
  }
  const later = median(edge.map((wait, round) => wait - (raw[round] ?? wait)))
  console.log(
    `${'time to the first token'.padEnd(30)} raw ${median(raw).toFixed(2)} ms  edge ${median(edge).toFixed(2)} ms  ` +
      `${later.toFixed(2)} ms later (goal: 0.3)`,
  )
}

/** Milliseconds until a streamed answer says something. All rounds, since by default a preamble is held back. */
async function waitFor(url: URL, model: string): Promise<number> {
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
  let waited: number | undefined
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.includes('word')) waited ??= performance.now() - start
  }
  if (waited === undefined) throw new Error(`${url.pathname} said nothing: ${text}`)
  return waited
}
