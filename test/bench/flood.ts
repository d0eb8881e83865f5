import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from './model-server.ts'
import { median } from './statistics.ts'
import { CONFIG } from './subjects.ts'
import { build, configure, serve, type Service, type Workerd } from './workerd.ts'

/** How many runs one tenant has under way at once, and what it runs. */
const FLOOD = 40
const FLOOD_MODEL = 'steps-10'
/** How many answers the other tenant asks for in a round, one after the other, and how many rounds there are. */
const ANSWERS = 30
const ROUNDS = 5
const KEYS = { flood: 'sk-flood-0000000000000000', other: 'sk-other-0000000000000000' }

/** A Worker that two callers use at once: `send` asks it for an answer of a model, in a conversation. */
interface Shared {
  readonly name: string
  readonly send: (caller: keyof typeof KEYS, model: string, conversation: string) => Promise<Response>
}

/**
 * `npm run bench -- flood`: how much longer the answers of one tenant take while another has 40 runs under way in the same
 * process, and the same of a hand-written loop that checks nothing, without tenants. Prints medians in ms.
 */
export async function benchFlood(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-flood-'))
  const model = await startModelServer()
  const started: Workerd[] = []
  try {
    const [edge, tools, raw] = await Promise.all([
      build('src/index.ts', 'wrangler.toml', join(folder, 'edge')),
      build('test/bench/workers/tools.ts', CONFIG, join(folder, 'tools')),
      build('test/bench/workers/raw.ts', CONFIG, join(folder, 'raw')),
    ])
    const start = async (service: Service) => {
      mkdirSync(join(folder, `run-${service.name}`))
      const services = [service, { name: 'tools', bundle: tools }]
      const names = services.map(({ name }) => name)
      const workerd = await serve(configure(services, join(folder, `run-${service.name}`)), names)
      started.push(workerd)
      return workerd.urls[service.name] ?? ''
    }
    const apiKeys = Object.entries(KEYS).map(([name, key]) => {
      const hash = createHash('sha256').update(key).digest('hex')
      return { id: name, sha256: hash, tenant: name, scopes: ['chat'] }
    })
    const edgeUrl = await start({
      ...{ name: 'edge', bundle: edge },
      vars: {
        ...{ MODEL: 'openai/answer-8', MODELS: 'openai/*', OPENAI_BASE_URL: model.url, TOOL_SEARCH: 'off' },
        API_KEYS: JSON.stringify(apiKeys),
      },
      services: { TOOL_BENCH: 'tools#Few' },
      objects: { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory' },
    })
    const rawUrl = await start({
      ...{ name: 'raw', bundle: raw, vars: { MODEL_URL: model.url } },
      services: { TOOLS: 'tools#Plain' },
      objects: { RAW: 'Conversation' },
    })
    const post = (url: string, body: object, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const messages = [{ role: 'user', content: 'What is the square root of 2?' }]
    const chat = (isStored: boolean): Shared['send'] => {
      return (caller, name, conversation) =>
        post(
          `${edgeUrl}/v1/chat/completions`,
          { model: `openai/${name}`, messages },
          { authorization: `Bearer ${KEYS[caller]}`, ...(isStored && { 'x-conversation-id': conversation }) },
        )
    }
    const subjects: readonly Shared[] = [
      { name: 'raw', send: (_, name) => post(`${rawUrl}/raw`, { model: name, messages }) },
      { name: 'raw, stored', send: (_, name, id) => post(`${rawUrl}/raw-do/${id}`, { model: name, messages }) },
      { name: 'edge', send: chat(false) },
      { name: 'edge, stored', send: chat(true) },
    ]
    for (const subject of subjects) await measure(subject)
  } finally {
    await Promise.all(started.map((workerd) => workerd.stop()))
    model.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Measures a subject in rounds, alone and under the flood in turn, and prints the medians. */
async function measure({ name, send }: Shared): Promise<void> {
  let count = 0
  const ask = async (caller: keyof typeof KEYS, model: string, conversation: string) => {
    const response = await send(caller, model, conversation)
    const text = await response.text()
    if (!response.ok) throw new Error(`${name}: ${response.status} ${text}`)
  }
  const waits = async () => {
    const each: number[] = []
    for (let index = 0; index < ANSWERS; index++) {
      const began = performance.now()
      await ask('other', 'answer-8', `other-${(count += 1)}`)
      each.push(performance.now() - began)
    }
    return each
  }
  await waits()
  const [alone, flooded]: [number[], number[]] = [[], []]
  let runs = 0
  let floodMs = 0
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(...(await waits()))
    const end = new AbortController()
    const began = performance.now()
    const lane = async () => {
      while (!end.signal.aborted) {
        await ask('flood', FLOOD_MODEL, `flood-${(count += 1)}`)
        runs += 1
      }
    }
    const lanes = Promise.all(Array.from({ length: FLOOD }, lane))
    flooded.push(...(await waits()))
    floodMs += performance.now() - began
    end.abort()
    await lanes
  }
  const [before, under] = [median(alone), median(flooded)]
  const rate = ((runs / floodMs) * 1000).toFixed(0)
  console.log(
    `${name}: ${before.toFixed(1)} ms alone, ${under.toFixed(1)} ms beside ${FLOOD} runs (${rate} a second): ${(under / before).toFixed(1)} times`,
  )
}
