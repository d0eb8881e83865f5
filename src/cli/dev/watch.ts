import { type Dirent, type FSWatcher, readdirSync, type Stats, statSync, watch } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** How long to wait after an event, in milliseconds: editors write a file in several steps. */
export const SETTLE_MS = 120
/** How long to wait in all, in milliseconds, if there is always another event. */
const LONGEST_SETTLE_MS = 1000
/** How often to compare the files, in milliseconds, where the system gives no events. */
const POLL_MS = 1000

/** Whether a folder has no files of a project, by its path with `/`: installed packages, and hidden folders. */
export function isForeign(folder: string): boolean {
  return /(?:^|\/)(?:node_modules|\.[^/]*)$/.test(folder)
}

export interface WatchOptions {
  /** Whether a folder is left out, by its path relative to the root, with `/`. */
  readonly ignores: (folder: string) => boolean
  /** Ends the watching. */
  readonly signal: AbortSignal
}

/**
 * Watches the files of a folder, and calls `onChange` with the paths of those that were written, made or deleted,
 * relative to the folder, with `/`.
 *
 * It finds a change in whatever way a file is saved: an event of a folder only makes it compare all files with what they
 * were before. Watching files does not suffice, nor does Node's recursive watching on Linux, which watches files too: both
 * lose a file that is replaced by another of its name, as editors and git do.
 */
export function watchFolder(
  root: string,
  onChange: (paths: ReadonlySet<string>) => void,
  { ignores, signal }: WatchOptions,
): void {
  let timer: NodeJS.Timeout | undefined
  let firstEventAt: number | undefined
  const compareSoon = () => {
    if (signal.aborted) return
    firstEventAt ??= Date.now()
    clearTimeout(timer)
    timer = setTimeout(compare, Math.min(SETTLE_MS, firstEventAt + LONGEST_SETTLE_MS - Date.now()))
  }
  const folders = new FolderEvents(compareSoon)
  let states = readStates(root, ignores, folders)
  const compare = () => {
    firstEventAt = undefined
    const before = states
    states = readStates(root, ignores, folders)
    const paths = new Set([...before.keys(), ...states.keys()].filter((path) => before.get(path) !== states.get(path)))
    if (paths.size > 0) onChange(paths)
  }
  const stop = () => {
    clearTimeout(timer)
    folders.close()
  }
  signal.addEventListener('abort', stop, { once: true })
}

/** Returns the state of each file below a folder; watches all its folders. */
function readStates(root: string, ignores: WatchOptions['ignores'], events: FolderEvents): Map<string, string> {
  const states = new Map<string, string>()
  const folders = new Set<string>()
  /** The folders by what they are, since links may lead to the same one again and again. */
  const identities = new Set<string>()
  /** Links, which come last, so that each folder is read under its own path. */
  const links: string[] = []
  const visit = (folder: string) => {
    const identity = identityOf(folder)
    if (identity === undefined || identities.has(identity)) return
    identities.add(identity)
    folders.add(folder)
    // First, so that no change is missed after the folder has been read.
    events.watch(folder)
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      const shortPath = relative(root, path).replaceAll('\\', '/')
      const stats = statsOf(path)
      if (!stats) continue
      if (!stats.isDirectory()) states.set(shortPath, stateIn(stats))
      else if (ignores(shortPath)) continue
      else if (entry.isSymbolicLink()) links.push(path)
      else visit(path)
    }
  }
  visit(root)
  // The loop also visits the links that it finds in what links lead to.
  for (const link of links) visit(link)
  events.keep(folders)
  return states
}

/** The events of folders. Where the system gives none, an event now and then stands for them. */
export class FolderEvents {
  readonly #onEvent: () => void
  readonly #watchers = new Map<string, FSWatcher>()
  #poll: NodeJS.Timeout | undefined

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent
  }

  watch(folder: string): void {
    if (this.#watchers.has(folder) || this.#poll) return
    try {
      const watcher = watch(folder, (event, name) => {
        // A folder that was made again is another one, which is not watched yet.
        if (event === 'rename' && name !== null) this.#unwatch(join(folder, name))
        this.#onEvent()
      })
      watcher.on('error', () => {
        this.#unwatch(folder)
        this.#onEvent()
      })
      this.#watchers.set(folder, watcher)
    } catch (error) {
      // The folder is gone, which its parent's event tells; or the system watches no more folders.
      if (!hasCode(error, 'ENOENT')) this.#poll = setInterval(this.#onEvent, POLL_MS)
    }
  }

  /** Stops watching all folders but these. */
  keep(folders: ReadonlySet<string>): void {
    for (const folder of this.#watchers.keys()) if (!folders.has(folder)) this.#unwatch(folder)
  }

  close(): void {
    clearInterval(this.#poll)
    this.keep(new Set())
  }

  /** Stops watching a folder and those in it. */
  #unwatch(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(join(folder, sep))) continue
      watcher.close()
      this.#watchers.delete(path)
    }
  }
}

function identityOf(folder: string): string | undefined {
  const stats = statsOf(folder)
  return stats && `${stats.dev} ${stats.ino}`
}

/** Returns what tells a version of a file from another one; undefined if there is no file. */
export function fileState(path: string): string | undefined {
  const stats = statsOf(path)
  return stats && stateIn(stats)
}

/** Whether a file was written, made or moved after a time, in epoch milliseconds. */
export function changedSince(time: number, path: string): boolean {
  const stats = statsOf(path)
  return stats !== undefined && Math.max(stats.mtimeMs, stats.ctimeMs) > time
}

function stateIn({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(' ')
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // Such as a link to itself.
    return undefined
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
