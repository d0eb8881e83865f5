import { relative } from 'node:path'
import { watchFolder } from './watch.ts'

/**
 * What a changed file is: `setup` needs a new start, `definitions` are stored again, `code` is followed by wrangler.
 * Anything else may still be what a Worker that does not start waits for.
 */
export type FileChange = 'setup' | 'definitions' | 'code' | 'other'

/** Collects changes of files until they are asked for. */
export class Changes {
  #pendingChanges = new Set<FileChange>()
  #arrival = Promise.withResolvers<void>()

  add(changes: Iterable<FileChange>): void {
    for (const change of changes) this.#pendingChanges.add(change)
    this.#arrival.resolve()
    this.#arrival = Promise.withResolvers()
  }

  clear(): void {
    this.#pendingChanges.clear()
  }

  /** Resolves with the changes since the last call, as soon as there are any. Throws the reason of the signal. */
  async next(signal: AbortSignal): Promise<ReadonlySet<FileChange>> {
    await this.#until(() => this.#pendingChanges.size > 0, signal)
    const changes = this.#pendingChanges
    this.#pendingChanges = new Set()
    return changes
  }

  /** Resolves as soon as there is a change of these kinds, which `next` still returns. Throws the reason of the signal. */
  async arrival(kinds: readonly FileChange[], signal: AbortSignal): Promise<void> {
    await this.#until(() => kinds.some((kind) => this.#pendingChanges.has(kind)), signal)
  }

  async #until(isThere: () => boolean, signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>()
    const onAbort = () => aborted.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      while (!isThere()) {
        await Promise.race([this.#arrival.promise, aborted.promise])
        signal.throwIfAborted()
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/** Collects the changes of a project's files until the signal aborts. `stateDir`: where the edge stores its data. */
export function projectChanges(root: string, stateDir: string, signal: AbortSignal): Changes {
  const changes = new Changes()
  const state = relative(root, stateDir).replaceAll('\\', '/')
  const ignores = (folder: string) => folder === state || /(?:^|\/)(?:node_modules|\.[^/]*)$/.test(folder)
  watchFolder(root, (paths) => changes.add([...paths].map(changeOf)), { ignores, signal })
  return changes
}

function changeOf(path: string): FileChange {
  if (/(?:^|\/)(?:wrangler\.(?:toml|jsonc?)|\.dev\.vars|\.env)$/.test(path)) return 'setup'
  if (/^tools\/definitions\/[^/]+\.(?:json|js)$/.test(path)) return 'definitions'
  return /^(?:src|tools)\/.*\.[cm]?[jt]sx?$/.test(path) ? 'code' : 'other'
}
