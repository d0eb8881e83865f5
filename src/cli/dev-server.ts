import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../contract/json.ts'
import type { WorkersPlan } from '../contract/platform.ts'
import { entrypointsOf, heldConfig } from '../testing/platform.ts'
import { QUIET_BUILDS } from './dev/builds.ts'
import type { EnvFile } from './env-file.ts'
import { Failure } from './failure.ts'
import { type Output, readOutput } from './output.ts'
import { readConfigFile } from './project/config-file.ts'
import { family, killAll, type Process, stillRunning } from './processes.ts'
import { spawnWrangler, UNATTENDED } from './wrangler.ts'

interface DevServerOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  /** The configurations, the edge's first: the port and the env file apply to the first only. */
  readonly configs: readonly string[]
  readonly port: number
  readonly envFile: EnvFile
  /** The folder that stores KV and Durable Objects, relative to the root. */
  readonly stateDir: string
  /** The plan of Cloudflare to whose limits the Workers are held. Default: none. */
  readonly plan?: WorkersPlan | undefined
}

/** The Workers, running on this machine in workerd, under `wrangler dev`. */
interface DevServer {
  readonly output: Output
  /** Resolves when wrangler has ended, for any reason, or will serve no more. */
  readonly ended: Promise<unknown>
  /** Records the server's processes, so that `stop` finds them even after wrangler itself has died. */
  noteProcesses(): void
  /** Ends every process of the server; those that do not end within 5 s are killed. */
  stop(): Promise<void>
}

/** By default, the space for young objects grows to 64 MB while the Workers are built, and stays that large. */
const SMALL_YOUNG_SPACE = '--max-semi-space-size=1'

const STOP_MS = 5000
const STOP_CHECK_MS = 50

/** Starts the Workers of these configurations, without waiting until they serve. */
export function startDevServer(options: DevServerOptions): DevServer {
  const { root, envFile } = options
  const { configs, ownFiles } = writeConfigs(options)
  const child = spawnWrangler(devArguments({ ...options, configs }), {
    root,
    env: devEnv(options),
    stdio: ['ignore', 'pipe', 'pipe'],
    nodeOptions: [...QUIET_BUILDS, SMALL_YOUNG_SPACE],
  })
  const { pid, stdout, stderr } = child
  if (pid === undefined || !stdout || !stderr) throw new Failure('wrangler could not be started.')
  const guard = setGuard({ pid, paths: [envFile.folder, ...ownFiles] })
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const processes = new Map<string, Process>()
  const noteProcesses = () => {
    // Once wrangler has ended, its process id may belong to another process.
    for (const each of isRunning() ? family(pid) : []) processes.set(`${each.pid} ${each.started}`, each)
  }
  const output = readOutput(stdout, stderr)
  return {
    output,
    ended: Promise.race([once(child, 'close').catch(() => {}), output.runtimeFailed]),
    noteProcesses,
    stop: async () => {
      // What it writes about its end, such as stacks of its own processes, helps nobody.
      output.onLine(() => {})
      // If wrangler has died already, nothing would end its processes gracefully, so they are killed at once.
      const deadline = isRunning() ? Date.now() + STOP_MS : 0
      noteProcesses()
      child.kill('SIGTERM')
      while (Date.now() < deadline && stillRunning(processes.values()).length > 0) {
        await sleep(STOP_CHECK_MS)
        noteProcesses()
      }
      killAll(processes.values())
      for (const path of ownFiles) rmSync(path, { force: true })
      guard.release()
    },
  }
}

/** Matches the path of a file that `writeConfigs` writes. */
export const DEV_CONFIG = /(?:^|\/)\.edgecall-dev-(\d+)(?:-\d+)?\.json$/

/**
 * Writes the configurations that differ here from those of the project, each beside its own, since its paths are relative.
 * An edge has the binding `LOADER`, which costs nothing on this machine, so that programs (`code` of a request) can be tried
 * before a plan is paid for. With a plan, each Worker is held to its limits. Returns the configurations to run, relative to
 * the root, and the files that were written. Removes those that killed processes have left.
 */
function writeConfigs({ root, configs, plan, envFile }: DevServerOptions) {
  for (const folder of new Set(configs.map(dirname))) removeLeftFiles(join(root, folder))
  const originals = configs.map((path) => readConfigFile(root, path))
  const entrypoints = entrypointsOf(originals)
  const ownFiles: string[] = []
  const paths = configs.map((path, at) => {
    const original = originals[at] ?? {}
    const withBinding = at === 0 && plan !== 'free' ? withLoader(original) : original
    const folder = resolve(root, dirname(path))
    const names = entrypoints.get(String(original['name']))
    const config = plan
      ? heldConfig(withBinding, { plan, folder, moduleFolder: envFile.folder, entrypoints: names })
      : withBinding
    if (config === original) return path
    const ownPath = join(dirname(path), `.edgecall-dev-${process.pid}.json`)
    writeFileSync(join(root, ownPath), JSON.stringify(config))
    ownFiles.push(join(root, ownPath))
    return ownPath
  })
  return { configs: paths, ownFiles }
}

function removeLeftFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = DEV_CONFIG.exec(name) ?? []
    if (pid !== undefined && family(Number(pid)).length === 0) rmSync(join(folder, name), { force: true })
  }
}

function withLoader(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { worker_loaders: bindings = [] } = config
  const isBound = !Array.isArray(bindings) || bindings.some((each) => isObject(each) && each['binding'] === 'LOADER')
  return isBound ? config : { ...config, worker_loaders: [...bindings, { binding: 'LOADER' }] }
}

function devArguments({ root, configs, port, envFile, stateDir }: DevServerOptions): string[] {
  const own = ['--ip', '127.0.0.1', '--port', String(port), '--persist-to', resolve(root, stateDir)]
  return ['dev', ...configs.flatMap((config) => ['-c', config]), ...own, '--env-file', envFile.path]
}

function devEnv({ env, envFile }: Pick<DevServerOptions, 'env' | 'envFile'>): NodeJS.ProcessEnv {
  return {
    // Without it, each start asks the network where this machine is.
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    // The pages of wrangler that show local data take 35 MB. `X_LOCAL_EXPLORER=true npm start` serves them.
    X_LOCAL_EXPLORER: 'false',
    // Larger blocks are given back to the system when they are freed. glibc raises its bound of 128 KB as blocks are freed,
    // unless it is set, and would keep some 100 MB of what was built.
    MALLOC_MMAP_THRESHOLD_: String(128 * 1024),
    ...env,
    ...UNATTENDED,
    // The edge gets all its variables from the env file, and no Worker gets the rest of the environment.
    CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: 'true',
    CLOUDFLARE_INCLUDE_PROCESS_ENV: 'false',
    // A changed configuration is a new start, which is not left to wrangler.
    WRANGLER_CI_DISABLE_CONFIG_WATCHING: 'true',
    // A registry of its own, because two starts on one machine have Workers with the same names.
    WRANGLER_REGISTRY_PATH: join(envFile.folder, 'registry'),
  }
}

/** Ends a process and removes files and folders if this process dies before it has done so itself. */
interface Guard {
  /** Ends the guard, once the process has ended and the files need no guard. */
  release(): void
}

// The pipe to the guard closes however this process ends, even by SIGKILL. Ctrl-C also reaches the guard and must not
// end it before its work is done.
const SCRIPT = `trap '' INT TERM HUP; read -r _; kill -TERM "$0"; rm -rf "$@"`

/** Starts a guard: a shell that waits. Release it as soon as the process has ended, because its id may be reused. */
export function setGuard({ pid, paths }: { pid: number; paths: readonly string[] }): Guard {
  const shell = spawn('sh', ['-c', SCRIPT, String(pid), ...paths], { stdio: ['pipe', 'ignore', 'ignore'] })
  return { release: () => shell.kill('SIGKILL') }
}
