import { readdirSync } from 'node:fs'
import { createTestHarness } from 'wrangler'
import { cpuMs, runtimes } from './cpu.ts'
import { benchCatalogue } from './catalogue.ts'
import { benchFirstToken } from './first-token.ts'
import { median } from './median.ts'
import { startModelServer } from './model-server.ts'
import { benchRecall } from './recall.ts'
import { benchSearch } from './search.ts'
import { benchStart } from './start.ts'

/**
 * `npm run bench`: the edge beside a hand-written loop in the same workerd, round by round in turn, so that what else
 * the machine does falls on both. What counts is the ratio; the medians of the rounds are printed with it. For the first
 * token it is how much later it comes. Then what tool search costs, 10,000 stored definitions, and a cold start.
 * `npm run bench -- search` runs the parts that it names alone, and `npm run bench -- recall FOLDER` tells how well
 * labelled sets of your own are found.
 */
type Part = 'loop' | 'first-token' | 'search' | 'catalogue' | 'start'
const asked = process.argv.slice(2)
if (asked[0] === 'recall') {
  await benchRecall(asked[1] ?? '.')
  process.exit(0)
}
const isAsked = (part: Part) => asked.length === 0 || asked.includes(part)
const ROUNDS = 9

interface Workload {
  readonly name: string
  readonly model: string
  readonly stream: boolean
  readonly requests: number
  /** Each request in a conversation of its own, or all in one. */
  readonly conversations?: 'new' | 'one'
}

const WORKLOADS: readonly Workload[] = [
  { name: 'answer alone', model: 'steps-0', stream: false, requests: 60 },
  { name: '10 one-tool steps', model: 'steps-10', stream: false, requests: 30 },
  { name: '10 one-tool steps, streamed', model: 'steps-10', stream: true, requests: 30 },
  { name: '10 steps in a new conversation', model: 'steps-10', stream: false, requests: 20, conversations: 'new' },
  { name: '10 steps in a long conversation', model: 'steps-10', stream: false, requests: 20, conversations: 'one' },
  { name: '2,000 tokens, streamed', model: 'tokens-2000', stream: true, requests: 10 },
]

let made = 0
const model = await startModelServer()
const tools = readdirSync(new URL('../../tools', import.meta.url).pathname)
const server = createTestHarness({
  root: new URL('../..', import.meta.url).pathname,
  workers: [
    { configPath: 'test/bench/raw/wrangler.toml', vars: { MODEL_URL: model.url } },
    {
      configPath: 'wrangler.toml',
      vars: { AUTH: 'open', MODEL: 'openai/steps-0', MODELS: 'openai/*', OPENAI_BASE_URL: model.url },
    },
    ...tools.map((name) => ({ configPath: `tools/${name}/wrangler.toml` })),
  ],
})
const { url } = await server.listen()

try {
  if (isAsked('start')) await benchStart()
  if (isAsked('search')) await benchSearch()
  if (isAsked('catalogue')) await benchCatalogue({ server, url })
  if (isAsked('first-token')) await benchFirstToken(url, model)
  for (const workload of isAsked('loop') ? WORKLOADS : []) {
    const raw: number[] = []
    const edge: number[] = []
    const pids = runtimes()
    await spend(pids, '/raw', workload)
    await spend(pids, '/edge/v1/chat/completions', workload)
    for (let round = 0; round < ROUNDS; round++) {
      raw.push(await spend(pids, '/raw', workload))
      edge.push(await spend(pids, '/edge/v1/chat/completions', workload))
    }
    const ratio = median(edge.map((value, round) => value / (raw[round] ?? value)))
    console.log(
      `${workload.name.padEnd(30)} raw ${median(raw).toFixed(2)} ms CPU  edge ${median(edge).toFixed(2)} ms CPU  ratio ${ratio.toFixed(2)}`,
    )
  }
} finally {
  await server.close()
  model.close()
}
process.exit(0)

/** Processor time of one request, over a batch of them. */
async function spend(pids: readonly number[], path: string, workload: Workload): Promise<number> {
  const { model, stream, requests, conversations } = workload
  const before = cpuMs(pids)
  for (let sent = 0; sent < requests; sent++) {
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(conversations && { 'x-conversation-id': conversations === 'one' ? 'long' : `new-${++made}` }),
      },
      body: JSON.stringify({
        model: path === '/raw' ? model : `openai/${model}`,
        messages: [{ role: 'user', content: 'What is the square root of 2?' }],
        stream,
        edgecall: { tools: ['squareRoot'] },
      }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  }
  return (cpuMs(pids) - before) / requests
}
