import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createTestHarness } from 'wrangler'
import { canonicalJson, sha256 } from '../../src/contract/json.ts'
import { CatalogueStore } from '../../src/catalogue/store.ts'
import { encodeCatalogueTerms, encodeIndex, INDEX_KEY, TERMS_KEY, versionKey } from '../../src/host/stored/copy.ts'
import { encodeTexts, TEXTS_KEY, textsOfVersions, type VersionText } from '../../src/host/stored/texts.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { manyTools } from './many-tools.ts'
import { SEARCH } from './model-process.ts'
import { startModelServer } from './model-server.ts'
import { childWorkerds, processorMs } from './processor.ts'
import { median } from './statistics.ts'

const ROUNDS = 7
const RUNS = 40
/** How long an isolate goes by an index. */
const FRESH_MS = 10_500

/** Measures a run beside 10 stored definitions and beside 10,000, and what the catalogue writes of these. */
export async function benchCatalogue(): Promise<void> {
  const model = await startModelServer()
  const tools = readdirSync(new URL('../../tools', import.meta.url).pathname)
  const server = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'wrangler.toml',
        vars: { AUTH: 'open', MODEL: 'openai/answer-8', MODELS: 'openai/*', OPENAI_BASE_URL: model.url },
      },
      ...tools.map((name) => ({ configPath: `tools/${name}/wrangler.toml` })),
    ],
  })
  try {
    const { url } = await server.listen()
    const { TOOLS } = await server.getWorker<{ TOOLS: KVNamespace }>('edgecall').getEnv()
    await benchRuns(url, TOOLS)
  } finally {
    await server.close()
    model.stop()
  }
  await benchCopy()
}

async function benchRuns(url: URL, TOOLS: KVNamespace): Promise<void> {
  const costs = new Map<string, number[]>()
  for (const count of [10, 10_000]) {
    const versions = await versionsOf(count)
    const entries = versions.map(({ name, hash }) => ({ name, hash, offered: false }))
    const used = await wantedOf(count)
    for (const { name, hash, text } of versions) if (used.includes(name)) await TOOLS.put(versionKey(name, hash), text)
    await TOOLS.put(INDEX_KEY, encodeIndex(count, entries))
    await TOOLS.put(TEXTS_KEY, encodeTexts(count, count, versions))
    await TOOLS.put(TERMS_KEY, encodeCatalogueTerms(count, count, textsOfVersions(count, versions)))
    await new Promise((resolve) => setTimeout(resolve, FRESH_MS))
    const [stored = ''] = used
    for (const [kind, model, tools] of [
      ['by default', 'openai/answer-8', undefined],
      ['with a stored tool', 'openai/answer-8', { add: [stored] }],
      ['that searches', 'openai/search-1', undefined],
    ] as const) {
      const json = { input: 'What is the square root of 2?', model, ...(tools && { tools }) }
      const key = `a run ${kind}`
      costs.set(key, [...(costs.get(key) ?? []), await costOf(new URL('/runs', url), json)])
    }
  }
  for (const [what, [few = 0, many = 0]] of costs) {
    tell(what, `${few.toFixed(2)} ms CPU beside 10 stored definitions, ${many.toFixed(2)} beside 10,000`)
  }
}

/** What the model's search finds: of the others no run reads more than the name. */
async function wantedOf(count: number): Promise<readonly string[]> {
  const index = createKeywordIndex()
  await index.add(manyTools(count))
  return (await index.search(SEARCH.query, 20)).map(({ name }) => name)
}

/** Processor time of one run, at the median of some batches; the first runs are not counted. */
async function costOf(url: URL, json: object): Promise<number> {
  const pids = childWorkerds()
  const cpuMs = () => pids.reduce((sum, pid) => sum + processorMs(pid), 0)
  const costs: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const before = cpuMs()
    for (let writes = 0; writes < RUNS; writes++) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
    }
    if (round > 0) costs.push((cpuMs() - before) / RUNS)
  }
  return median(costs)
}

/** The texts of stored definitions as the catalogue keeps them, sorted by name. */
async function versionsOf(count: number): Promise<readonly VersionText[]> {
  const versions = await Promise.all(
    manyTools(count).map(async ({ name, description, inputSchema }) => {
      const text = canonicalJson({ name, description, inputSchema, static: { text: 'Done.' } })
      return { name, hash: await sha256(text), text }
    }),
  )
  return versions.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** What it takes to write the index and the texts of 10,000 definitions, and how large they are. */
async function benchCopy(): Promise<void> {
  const store = new CatalogueStore(memoryStorage(new DatabaseSync(':memory:')))
  const [created, by] = [{ change: 'created', breaks: [] } as const, { tenant: 'bench' }]
  for (const version of await versionsOf(10_000)) {
    store.add({ ...version, version: '1', offered: false, action: 'put', by }, created, 1)
  }
  const indexes: number[] = []
  const texts: number[] = []
  const indexings: number[] = []
  let [index, text, terms] = ['', '', '']
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    index = encodeIndex(10_000, store.index(10_000))
    indexes.push(performance.now() - start)
    const next = performance.now()
    text = encodeTexts(10_000, 10_000, store.texts(10_000))
    texts.push(performance.now() - next)
    const last = performance.now()
    terms = encodeCatalogueTerms(10_000, 10_000, textsOfVersions(10_000, store.texts(10_000)))
    indexings.push(performance.now() - last)
  }
  const size = (value: string) => `${(Buffer.byteLength(value) / 1024 / 1024).toFixed(1)} MiB (KV takes 25)`
  tell('the index of 10,000 written', `${median(indexes).toFixed(0)} ms, ${size(index)}`)
  tell('what they are found by written', `${median(texts).toFixed(0)} ms, ${size(text)}`)
  tell('their search index written', `${median(indexings).toFixed(0)} ms, ${size(terms)}`)
  benchFirstSearch({ terms, texts: text })
}

/** What the first search of a new isolate costs, by the index and by texts, each in processes of their own. */
function benchFirstSearch(values: Readonly<Record<string, string>>): void {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-bench-'))
  const program = new URL('first-search.ts', import.meta.url).pathname
  for (const [name, value] of Object.entries(values)) {
    writeFileSync(join(folder, name), value)
    const measured = Array.from({ length: ROUNDS }, (): { cpuMs: number; heap: number } => {
      const printed = execFileSync(process.execPath, ['--expose-gc', program, join(folder, name)], { encoding: 'utf8' })
      return JSON.parse(printed)
    })
    const [cpuMs, heap] = [median(measured.map((each) => each.cpuMs)), median(measured.map((each) => each.heap))]
    tell(`the first search, by the ${name}`, `${cpuMs.toFixed(0)} ms CPU, ${heap.toFixed(0)} MB`)
  }
  rmSync(folder, { recursive: true })
}

function tell(what: string, figure: string): void {
  console.log(`${what.padEnd(34)} ${figure}`)
}
