import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { freePort } from '../cli/command.ts'
import { median } from './median.ts'

const ROUNDS = 15
const POLL_MS = 0.2
const ROOT = new URL('../..', import.meta.url).pathname

const SUBJECTS = [
  { name: 'an empty Worker', main: 'test/bench/start/empty.ts', config: 'test/bench/start/wrangler.toml', classes: [] },
  {
    name: 'the edge',
    main: 'src/index.ts',
    config: 'wrangler.toml',
    classes: ['Conversation', 'Directory', 'Catalog'],
  },
  {
    name: 'the AI SDK and one tool',
    main: 'test/bench/start/ai-sdk.ts',
    config: 'test/bench/start/wrangler.toml',
    classes: [],
  },
] as const

type Subject = (typeof SUBJECTS)[number]

interface Start {
  /** From the start of workerd to the first answer, in milliseconds. */
  readonly ms: number
  /** What the process then holds in memory. */
  readonly mib: number
}

/**
 * What each Worker weighs as it would be deployed, and how much later than an empty one it gives its first answer, in a
 * workerd of its own: the medians of rounds in turn.
 */
export async function benchStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-start-'))
  try {
    const configs = SUBJECTS.map((subject, index) => build(subject, join(folder, String(index))))
    const starts: Start[][] = SUBJECTS.map(() => [])
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, { config }] of configs.entries()) starts[index]?.push(await start(config))
    }
    const [empty = []] = starts
    for (const [index, { name }] of SUBJECTS.entries()) {
      const later = median((starts[index] ?? []).map(({ ms }, round) => ms - (empty[round]?.ms ?? ms)))
      const mib = median((starts[index] ?? []).map((each) => each.mib))
      const kib = (configs[index]?.bytes ?? 0) / 1024
      console.log(
        `${name.padEnd(30)} ${kib.toFixed(1)} KiB gzip  first answer ${later.toFixed(1)} ms later  ${mib.toFixed(0)} MiB`,
      )
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Builds a Worker as a deploy would, and a configuration of workerd for it alone. */
function build(
  { main, config: from, classes }: Subject,
  folder: string,
): { readonly config: string; readonly bytes: number } {
  const flags = ['deploy', main, '-c', from, '--dry-run', '--minify', '--outdir', folder]
  const env = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false' }
  mkdirSync(folder)
  execFileSync('wrangler', flags, { cwd: ROOT, env, stdio: 'pipe' })
  const files = readdirSync(folder)
  const code = files.find((file) => file.endsWith('.js')) ?? ''
  const texts = files
    .filter((file) => /\.(html|txt)$/.test(file))
    .map((file) => `, (name = "${file}", text = embed "${file}")`)
  const objects = classes.map((name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`)
  const config = join(folder, 'workerd.capnp')
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "${code}", esModule = embed "${code}")${texts.join('')}],
    compatibilityDate = "2026-10-23",
    bindings = [(name = "AUTH", text = "open"), (name = "MODEL", text = "openai/any")],
    durableObjectNamespaces = [${objects.join(', ')}],
    durableObjectStorage = (inMemory = void)
  ))],
  sockets = [(name = "http", http = (), service = "main")]
);
`,
  )
  return { config, bytes: gzipSync(readFileSync(join(folder, code))).byteLength }
}

async function start(config: string): Promise<Start> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(join(ROOT, 'node_modules/workerd/bin/workerd'), ['serve', config, `-shttp=127.0.0.1:${port}`])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}`)
      await sleep(POLL_MS)
    }
    const ms = performance.now() - began
    const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
    return { ms, mib: Number(kib) / 1024 }
  } finally {
    child.kill()
    await ended
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok
  } catch {
    return false
  }
}
