import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { freePort } from '../cli/command.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const POLL_MS = 0.2
const START_MS = 20_000

/** A Worker as `wrangler deploy` would upload it. */
export interface Bundle {
  readonly folder: string
  /** The file name of its code. */
  readonly code: string
  /** The file names of its text modules. */
  readonly texts: readonly string[]
  /** The size of its code, in gzip bytes. */
  readonly bytes: number
}

/** Builds a Worker into a folder. `main` and `config` are paths from the root of the repository. */
export async function build(main: string, config: string, folder: string): Promise<Bundle> {
  const flags = ['deploy', main, '-c', config, '--dry-run', '--minify', '--outdir', folder]
  const env = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false' }
  mkdirSync(folder, { recursive: true })
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/wrangler'), flags, { cwd: ROOT, env })
  const files = readdirSync(folder)
  const code = files.find((file) => file.endsWith('.js'))
  if (code === undefined) throw new Error(`${main} was not built`)
  const texts = files.filter((file) => /\.(html|txt)$/.test(file))
  return { folder, code, texts, bytes: gzipSync(readFileSync(join(folder, code))).byteLength }
}

/** A Worker in a workerd. */
export interface Service {
  readonly name: string
  readonly bundle: Bundle
  readonly vars?: Readonly<Record<string, string>>
  /** Service bindings, as `service` or `service#entrypoint` by name of the binding. */
  readonly services?: Readonly<Record<string, string>>
  /** Bindings of its own Durable Object classes, by name of the binding. */
  readonly objects?: Readonly<Record<string, string>>
  /** Whether it has the binding `LOADER`, which loads Workers. */
  readonly loads?: boolean
}

export interface Workerd {
  readonly pid: number
  /** The address of each service, by its name. */
  readonly urls: Readonly<Record<string, string>>
  /** From the start of the process to the first answer, in milliseconds. */
  readonly startMs: number
  stop(): Promise<void>
}

/**
 * Writes a configuration of workerd to a folder. Each service has a socket of its name. Durable Objects are stored on disk
 * in that folder.
 */
export function configure(services: readonly Service[], folder: string): string {
  const path = join(folder, 'workerd.capnp')
  const disk = join(folder, 'objects')
  mkdirSync(disk, { recursive: true })
  writeFileSync(
    path,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.map((service) => serviceText(service, folder)).join(',\n    ')},
    (name = "objects", disk = (path = "${disk}", writable = true)),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [${services.map(({ name }) => `(name = "${name}", http = (), service = "${name}")`).join(', ')}]
);
`,
  )
  return path
}

function serviceText({ name, bundle, vars = {}, services = {}, objects = {}, loads }: Service, folder: string): string {
  // An absolute path would be looked up among the schemas of workerd.
  const pathOf = (file: string) => relative(folder, join(bundle.folder, file))
  const modules = [
    `(name = "${bundle.code}", esModule = embed "${pathOf(bundle.code)}")`,
    ...bundle.texts.map((file) => `(name = "${file}", text = embed "${pathOf(file)}")`),
  ]
  const bindings = [
    ...Object.entries(vars).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`),
    ...Object.entries(services).map(([name, target]) => {
      const [service, entrypoint] = target.split('#')
      const entrypointLine = entrypoint === undefined ? '' : `, entrypoint = "${entrypoint}"`
      return `(name = "${name}", service = (name = "${service}"${entrypointLine}))`
    }),
    ...Object.entries(objects).map(
      ([name, className]) => `(name = "${name}", durableObjectNamespace = "${className}")`,
    ),
    ...(loads ? ['(name = "LOADER", workerLoader = ())'] : []),
  ]
  const namespaces = [...new Set(Object.values(objects))].map(
    (className) => `(className = "${className}", uniqueKey = "${name}-${className}", enableSql = true)`,
  )
  return `(name = "${name}", worker = (
      modules = [${modules.join(', ')}],
      compatibilityDate = "2026-10-23",
      compatibilityFlags = ["enable_request_signal", "global_fetch_strictly_public"],
      bindings = [${bindings.join(', ')}],
      durableObjectNamespaces = [${namespaces.join(', ')}],
      durableObjectStorage = (localDisk = "objects")
    ))`
}

/**
 * Starts a workerd with these services. Resolves when the first of them answers. Call `stop` at the end. `flags`: those of
 * workerd, such as `--experimental`, without which it loads no Workers.
 */
export async function serve(config: string, names: readonly string[], flags: readonly string[] = []): Promise<Workerd> {
  const ports = await Promise.all(names.map(() => freePort()))
  const urls = Object.fromEntries(names.map((name, at) => [name, `http://127.0.0.1:${ports[at]}`]))
  const sockets = names.map((name, at) => `-s${name}=127.0.0.1:${ports[at]}`)
  const began = performance.now()
  const child = spawn(join(ROOT, 'node_modules/workerd/bin/workerd'), ['serve', config, ...flags, ...sockets], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const kill = () => void child.kill()
  process.once('exit', kill)
  const stop = async () => {
    process.off('exit', kill)
    kill()
    await ended
  }
  const [first = ''] = Object.values(urls)
  while (!(await answers(first))) {
    if (child.exitCode === null && performance.now() - began < START_MS) await sleep(POLL_MS)
    else {
      await stop()
      throw new Error(`workerd does not start with ${config}`)
    }
  }
  if (child.pid === undefined) throw new Error('workerd has no process')
  return { pid: child.pid, urls, startMs: performance.now() - began, stop }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).ok
  } catch {
    return false
  }
}
