import type { FileChange } from './watch.ts'

/** Collects changes of files until somebody asks for them. */
export class Changes {
  #seen = new Set<FileChange>()
  #wake: (() => void) | undefined

  add(changes: ReadonlySet<FileChange>): void {
    for (const change of changes) this.#seen.add(change)
    this.#wake?.()
  }

  clear(): void {
    this.#seen.clear()
  }

  /** Resolves with the changes since the last call, as soon as there are any. Throws the reason of the signal. */
  async next(signal: AbortSignal): Promise<ReadonlySet<FileChange>> {
    while (this.#seen.size === 0) {
      signal.throwIfAborted()
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
    }
    signal.throwIfAborted()
    const seen = this.#seen
    this.#seen = new Set()
    return seen
  }
}
