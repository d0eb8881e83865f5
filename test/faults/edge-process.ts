import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'smol-toml'
import { setGuard } from '../../src/cli/dev-server.ts'
import { family, killAll, type Process, stillRunning } from '../../src/cli/processes.ts'
import { spawnWrangler, UNATTENDED } from '../../src/cli/wrangler.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const READY_MS = 180_000
const CHECK_MS = 50
/** While the Workers are being built, requests are held back: better to ask again. */
const REQUEST_MS = 2000
const MOST_OUTPUT = 64 * 1024

/** A Worker to install. */
export interface SiteWorker {
  readonly name: string
  /** Its configuration, from the root of the repository. */
  readonly config: string
  /** What replaces fields of the configuration. */
  readonly changes?: object
}

/** Where an edge is installed: its configuration, all that it stores, and all that wrangler writes. */
export interface Site {
  readonly folder: string
  /** The folder with the databases of its objects and namespaces. */
  readonly state: string
  /** The names of its Workers, the edge first. */
  readonly workers: readonly string[]
  /** Installs a Worker, or another version of one. */
  install(worker: SiteWorker): void
  remove(): void
}

/** Installs Workers, the edge first, in a folder of their own. */
export function makeSite(workers: readonly SiteWorker[]): Site {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-faults-'))
  for (const worker of workers) install(folder, worker)
  return {
    folder,
    state: join(folder, 'state'),
    workers: workers.map(({ name }) => name),
    install: (worker) => install(folder, worker),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function install(folder: string, { name, config, changes = {} }: SiteWorker): void {
  const path = resolve(ROOT, config)
  const parsed = parse(readFileSync(path, 'utf8')) as { readonly main: string }
  const main = resolve(path, '..', parsed.main)
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ ...parsed, main, ...changes }))
}

/** One life of the edge: `wrangler dev` and all that it starts. */
export interface EdgeProcess {
  readonly url: string
  /** Resolves when the edge answers and knows its tools, or was killed. Rejects where it does not come to that. */
  ready(): Promise<void>
  /** What the Workers and wrangler last wrote. */
  output(): string
  /** Kills every process of it, all at once. Resolves when none is left. */
  kill(): Promise<void>
}

/** Starts the edge of a site. Call `kill` at the end. `headers`: those that its list of tools needs, such as a key. */
export function startEdge(site: Site, port: number, headers: Readonly<Record<string, string>> = {}): EdgeProcess {
  const { folder } = site
  const child = spawnWrangler(devArguments(site, port), {
    root: ROOT,
    env: devEnv(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const pid = child.pid!
  const guard = setGuard({ pid, paths: [folder] })
  const url = `http://127.0.0.1:${port}`
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MOST_OUTPUT)
    })
  }
  const isRunning = () => child.exitCode === null && child.signalCode === null
  let isKilled = false
  let noted: Process[] = []
  return {
    url,
    output: () => output,
    ready: async () => {
      const deadline = Date.now() + READY_MS
      while (!(await knowsTools(url, headers))) {
        if (isKilled) return
        if (!isRunning() || Date.now() > deadline) throw new Error(`The edge does not start:\n${output}`)
        await sleep(CHECK_MS)
      }
      if (isKilled) return
      // Should wrangler die by itself, those that it started could not be found any more.
      noted = family(pid)
    },
    kill: async () => {
      isKilled = true
      const processes = isRunning() ? freeze(pid) : noted
      killAll(processes)
      while (stillRunning(processes).length > 0) await sleep(1)
      guard.release()
    },
  }
}

function devArguments({ folder, state, workers }: Site, port: number): string[] {
  const configs = workers.flatMap((name) => ['-c', join(folder, `${name}.json`)])
  const address = ['--ip', '127.0.0.1', '--port', String(port), '--inspector-port', '0']
  return ['dev', ...configs, ...address, '--persist-to', state, '--log-level', 'error']
}

function devEnv(folder: string): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, TMPDIR: folder, WRANGLER_REGISTRY_PATH: join(folder, 'registry'), ...UNATTENDED }
}

async function knowsTools(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  try {
    const response = await fetch(`${url}/tools`, { headers, signal: AbortSignal.timeout(REQUEST_MS) })
    return (await response.text()).includes('"idempotent"')
  } catch {
    return false
  }
}

/** Halts a process and all that it started, so that none of them sees another die, or starts one meanwhile. */
function freeze(pid: number): Process[] {
  for (let count = 0; ;) {
    const members = family(pid)
    if (members.length === count) return members
    count = members.length
    for (const { pid } of members) halt(pid)
  }
}

function halt(pid: number): void {
  try {
    process.kill(pid, 'SIGSTOP')
  } catch {
    // It has ended meanwhile.
  }
}
