import type { FileChange } from './watch.ts'

/** Collects changes of files until somebody asks for them. */
export class Changes {
  #pendingChanges = new Set<FileChange>()
  #wake: (() => void) | undefined

  add(changes: ReadonlySet<FileChange>): void {
    for (const change of changes) this.#pendingChanges.add(change)
    this.#wake?.()
  }

  clear(): void {
    this.#pendingChanges.clear()
  }

  /** Resolves with the changes since the last call, as soon as there are any. Throws the reason of the signal. */
  async next(signal: AbortSignal): Promise<ReadonlySet<FileChange>> {
    while (this.#pendingChanges.size === 0) {
      signal.throwIfAborted()
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
    }
    signal.throwIfAborted()
    const changes = this.#pendingChanges
    this.#pendingChanges = new Set()
    return changes
  }
}
