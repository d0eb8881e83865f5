import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as Esbuild from 'esbuild'
import { changedSince, FolderEvents, isForeign, SETTLE_MS, fileState, watchFolder } from './watch.ts'

/**
 * How Workers are built in development. Left alone, `wrangler dev` has esbuild compare the files of each Worker with what
 * they were, several times a second, and hold all that it has parsed in memory. This module is loaded into wrangler's
 * process, where a Worker is built again when the system reports a change of what its last build has read, and the process
 * of esbuild ends, and garbage is collected, while there is nothing to build.
 */

/** How long there is nothing to build before the process of esbuild is ended, in milliseconds. */
const IDLE_MS = 2000

/**
 * How long after that garbage is collected, in milliseconds. By then wrangler has usually started the Workers, for which it
 * copies their bundles.
 */
const COLLECT_MS = 8000

/**
 * The options of Node with which this module is loaded into wrangler's process, and can collect garbage there. After an
 * `--import` in place of `--require`, Node would keep the text of wrangler twice, 30 MB each.
 */
export const QUIET_BUILDS = [`--require=${fileURLToPath(import.meta.url)}`, '--expose-gc'] as const

type Build = (options: Esbuild.BuildOptions) => Promise<Esbuild.BuildResult>
type Builder = Pick<typeof Esbuild, 'build' | 'stop'>

/** The part of an esbuild context that wrangler uses. */
type WatchContext = Pick<Esbuild.BuildContext, 'watch' | 'dispose'>

/** Returns what takes the place of `build` and `context` of esbuild. `root`: the folder of the project. */
export function withoutPolling(
  esbuild: Builder,
  root: string,
): { readonly build: Build; readonly context: (options: Esbuild.BuildOptions) => Promise<WatchContext> } {
  let underWay = 0
  let idle: NodeJS.Timeout | undefined
  const rest = () => {
    void esbuild.stop()
    // Node collects garbage when it needs memory, which a process that is idle does not.
    idle = setTimeout(() => globalThis.gc?.(), COLLECT_MS).unref()
  }
  const build: Build = async (options) => {
    clearTimeout(idle)
    underWay++
    try {
      return await esbuild.build(options)
    } finally {
      underWay--
      if (underWay === 0) idle = setTimeout(rest, IDLE_MS).unref()
    }
  }
  return {
    build,
    context: async (options) => {
      const end = new AbortController()
      return {
        watch: async () => buildAndFollow(options, { build, root, signal: end.signal }),
        dispose: async () => end.abort(),
      }
    },
  }
}

interface FollowOptions {
  readonly build: Build
  readonly root: string
  readonly signal: AbortSignal
}

/** Builds, and again after each change of what the last build has read; after a failed one, of any file of the project. */
function buildAndFollow(options: Esbuild.BuildOptions, { build, root, signal }: FollowOptions): void {
  const { absWorkingDir = process.cwd(), plugins = [] } = options
  /** The files and folders that the last complete build has read, with their states. */
  let inputs: ReadonlyMap<string, string | undefined> = new Map()
  let failure: AbortController | undefined
  let timer: NodeJS.Timeout | undefined
  let isBuilding = false
  const checkSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(check, SETTLE_MS)
  }
  const folders = new FolderEvents(checkSoon)
  const check = () => {
    if (signal.aborted || isBuilding) return
    if (failure || Array.from(inputs).some(([path, state]) => fileState(path) !== state)) void buildOnce()
  }
  const buildOnce = async () => {
    isBuilding = true
    failure?.abort()
    failure = undefined
    const startedAt = Date.now()
    const paths = new Set<string>()
    const complete = { ...options, plugins: plugins.map((each) => withNotes(each, paths)), metafile: true }
    const result = await build(complete).catch(() => undefined)
    isBuilding = false
    if (signal.aborted) return
    if (result) {
      for (const input of Object.keys(result.metafile?.inputs ?? {})) paths.add(resolve(absWorkingDir, input))
      inputs = new Map(Array.from(paths, (path) => [path, changedSince(startedAt, path) ? 'changed' : fileState(path)]))
      const parents = new Set(Array.from(paths, dirname))
      for (const folder of parents) folders.watch(folder)
      folders.keep(parents)
      checkSoon()
    } else {
      // wrangler has been told why. What is missing may be made anywhere.
      failure = new AbortController()
      watchFolder(root, checkSoon, { ignores: isForeign, signal: failure.signal })
    }
  }
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer)
      folders.close()
      failure?.abort()
    },
    { once: true },
  )
  void buildOnce()
}

/** Returns a plugin that adds the files and folders to a set which it tells esbuild to watch. */
function withNotes({ name, setup }: Esbuild.Plugin, paths: Set<string>): Esbuild.Plugin {
  const note = <Result extends Esbuild.OnLoadResult | Esbuild.OnResolveResult | null | undefined>(result: Result) => {
    for (const path of [...(result?.watchFiles ?? []), ...(result?.watchDirs ?? [])]) paths.add(path)
    return result
  }
  return {
    name,
    setup: (build) =>
      setup({
        ...build,
        onResolve: (filter, resolver) => build.onResolve(filter, async (args) => note(await resolver(args))),
        onLoad: (filter, loader) => build.onLoad(filter, async (args) => note(await loader(args))),
      }),
  }
}

// In wrangler's process, not in the one that starts it.
const [, script = ''] = process.argv
if (script.replaceAll('\\', '/').endsWith('/wrangler-dist/cli.js')) {
  const load = createRequire(script)
  const path = load.resolve('esbuild')
  const esbuild: typeof Esbuild = load(path)
  const cached = load.cache[path]
  if (cached) cached.exports = { ...esbuild, ...withoutPolling(esbuild, process.cwd()) }
}
