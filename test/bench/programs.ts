import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from './model-server.ts'
import { processorMs } from './processor.ts'
import { median, quartiles } from './statistics.ts'
import { CONFIG, edgeService } from './subjects.ts'
import { build, configure, serve } from './workerd.ts'
import { LAST_WORD } from './workloads.ts'

const ROUNDS = 12
const REQUESTS = 25
const WARM_REQUESTS = 100

/** A request whose cost is measured. */
interface Shot {
  readonly url: string
  readonly body?: object
  /** Whether each is made in a conversation of its own. */
  readonly isStored?: boolean
}

/**
 * Measures the CPU time of a run with a program of ten calls, over that of a run with the same calls in one answer of the
 * model, and that of an isolate: a request that loads an empty Worker and asks it, over one that does not. All are asked
 * in turn, in one workerd.
 */
export async function benchPrograms(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-bench-'))
  const model = await startModelServer()
  try {
    const [edge, tools, isolates] = await Promise.all([
      build('src/index.ts', 'wrangler.toml', join(folder, 'edge')),
      build('test/bench/workers/tools.ts', CONFIG, join(folder, 'tools')),
      build('test/bench/workers/isolates.ts', CONFIG, join(folder, 'isolates')),
    ])
    const services = [
      { ...edgeService('edge', edge, { url: model.url, tools: 'tools#Few' }), loads: true },
      { name: 'tools', bundle: tools },
      { name: 'isolates', bundle: isolates, loads: true },
    ]
    mkdirSync(join(folder, 'run'))
    const names = services.map(({ name }) => name)
    const workerd = await serve(configure(services, join(folder, 'run')), names, ['--experimental'])
    const run = (kind: string, code: string): Shot => {
      const messages = [{ role: 'user', content: 'What are the roots?' }]
      return {
        url: `${workerd.urls['edge']}/v1/chat/completions`,
        body: { model: `openai/${kind}`, messages, edgecall: { code } },
      }
    }
    await measure(workerd.pid, {
      'ten calls': run('roots-10', 'off'),
      'a program of ten calls': run('program-10', 'only'),
      'a program without calls': run('program-0', 'only'),
      'ten calls, stored': { ...run('roots-10', 'off'), isStored: true },
      'a program of ten calls, stored': { ...run('program-10', 'only'), isStored: true },
      'a request': { url: `${workerd.urls['isolates']}/` },
      'an isolate': { url: `${workerd.urls['isolates']}/load` },
    })
    await workerd.stop()
  } finally {
    model.stop()
    rmSync(folder, { recursive: true })
  }
}

async function measure(pid: number, shots: Readonly<Record<string, Shot>>): Promise<void> {
  const costs = new Map<string, number[]>(Object.keys(shots).map((name) => [name, []]))
  for (const shot of Object.values(shots)) for (let count = 0; count < WARM_REQUESTS; count++) await ask(shot)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, shot] of Object.entries(shots)) {
      const before = processorMs(pid)
      for (let count = 0; count < REQUESTS; count++) await ask(shot)
      costs.get(name)?.push((processorMs(pid) - before) / REQUESTS)
    }
  }
  console.log(`\nCPU ms of a request: the median of ${ROUNDS} rounds of ${REQUESTS}, and the quartiles`)
  for (const [name, own] of costs) {
    const { low, middle, high } = quartiles(own)
    console.log(`  ${name.padEnd(32)} ${middle.toFixed(2).padStart(6)} [${low.toFixed(2)}–${high.toFixed(2)}]`)
  }
  const costIn = (name: string, round: number) => costs.get(name)?.[round] ?? Number.NaN
  for (const suffix of ['', ', stored']) {
    const ratios = Array.from({ length: ROUNDS }, (_, round) => {
      const isolate = costIn('an isolate', round) - costIn('a request', round)
      return (costIn(`a program of ten calls${suffix}`, round) - isolate) / costIn(`ten calls${suffix}`, round)
    })
    console.log(`  a program without its isolate over ten calls${suffix}: ${median(ratios).toFixed(2)} ×`)
  }
}

let conversations = 0

async function ask({ url, body = {}, isStored = false }: Shot): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, {
    method: 'POST',
    headers: isStored ? { ...headers, 'x-conversation-id': `c${conversations++}` } : headers,
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok || !text.includes(LAST_WORD)) throw new Error(`${url}: ${response.status} ${text.slice(0, 2000)}`)
}
