import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from './model-server.ts'
import { memoryMib } from './processor.ts'
import { CONFIG, edgeService } from './subjects.ts'
import { build, configure, serve, type Service } from './workerd.ts'

const CONVERSATIONS = 50
const RUNS = 4000
const EACH = 500
const LANES = 4
const MIB = 1024 ** 2

/** A Worker that stores conversations: the service, and the request for an answer in one of them. */
interface Keeper {
  readonly service: Service
  readonly path: (conversation: string) => string
  readonly headers: (conversation: string) => Record<string, string>
  readonly model: string
}

/**
 * `npm run bench -- memory`: the memory of a workerd over 4,000 runs in 50 conversations of the edge, and in as many objects
 * of a hand-written loop, beside the size of their databases. SQLite keeps up to 2 MB of each open database in memory, so the
 * process grows with them until that is reached, and no more after that.
 */
export async function benchMemory(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-memory-'))
  const model = await startModelServer()
  try {
    const [edge, tools, raw] = await Promise.all([
      build('src/index.ts', 'wrangler.toml', join(folder, 'edge')),
      build('test/bench/workers/tools.ts', CONFIG, join(folder, 'tools')),
      build('test/bench/workers/raw.ts', CONFIG, join(folder, 'raw')),
    ])
    const toolService = { name: 'tools', bundle: tools }
    const keepers: readonly Keeper[] = [
      {
        service: {
          ...{ name: 'raw', bundle: raw, vars: { MODEL_URL: model.url } },
          services: { TOOLS: 'tools#Plain' },
          objects: { RAW: 'Conversation' },
        },
        path: (conversation) => `/raw-do/${conversation}`,
        headers: () => ({}),
        model: 'steps-1',
      },
      {
        service: edgeService('edge', edge, { url: model.url, tools: 'tools#Few' }),
        path: () => '/v1/chat/completions',
        headers: (conversation) => ({ 'x-conversation-id': conversation }),
        model: 'openai/steps-1',
      },
    ]
    for (const keeper of keepers) await measure(keeper, toolService, join(folder, `run-${keeper.service.name}`))
  } finally {
    model.stop()
    rmSync(folder, { recursive: true })
  }
}

async function measure({ service, path, headers, model }: Keeper, tools: Service, folder: string): Promise<void> {
  mkdirSync(folder)
  const workerd = await serve(configure([service, tools], folder), [service.name, tools.name])
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'What is the square root of 2?' }] })
  const run = async (index: number) => {
    const conversation = `conversation-${index % CONVERSATIONS}`
    const response = await fetch(`${workerd.urls[service.name] ?? ''}${path(conversation)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers(conversation) },
      body,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${service.name}: ${response.status} ${text}`)
  }
  try {
    console.log(`${service.name}: ${memoryMib(workerd.pid).toFixed(0)} MiB at the start`)
    for (let most = EACH; most <= RUNS; most += EACH) {
      const indexes = Array.from({ length: EACH }, (_, at) => most - EACH + at).values()
      const lane = async () => {
        for (const index of indexes) await run(index)
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      console.log(
        `${service.name}: ${memoryMib(workerd.pid).toFixed(0)} MiB after ${most} runs, ${diskMib(folder)} MiB of databases`,
      )
    }
  } finally {
    await workerd.stop()
  }
}

function diskMib(folder: string): string {
  const sizes = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
    (file) => statSync(join(folder, file)).size,
  )
  return (sizes.reduce((sum, size) => sum + size, 0) / MIB).toFixed(0)
}
