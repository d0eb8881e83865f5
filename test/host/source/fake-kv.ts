import type { ToolNamespace } from '../../../src/host/stored/version-cache.ts'

/** A KV namespace as the platform has it: bulk reads of 100, keys of 512 bytes, one write of a key in a second. */
export class FakeKv implements ToolNamespace {
  readonly stored = new Map<string, string>()
  /** What was asked of it, such as `get 2` and `put tools:index`. */
  readonly operations: string[] = []
  /** While it is set, everything fails with it. */
  failure: Error | undefined
  /** Whether its reads never end. */
  hangs = false
  /** While it is set, its writes fail. */
  failsFor: string | undefined
  /** When each key was last written, in epoch milliseconds. */
  readonly #writtenAt = new Map<string, number>()
  /** Called in the middle of each read. */
  during: () => void = () => {}

  async get(keys: string[], type: 'text'): Promise<Map<string, string | null>> {
    this.#ask(`get ${keys.length}`)
    if (this.hangs) await new Promise<never>(() => {})
    if (keys.length > 100) throw new Error('400 You can request a maximum of 100 keys')
    if (type !== 'text') throw new Error('unknown type')
    const values = new Map(keys.map((key) => [key, this.stored.get(key) ?? null]))
    await Promise.resolve()
    this.during()
    return values
  }

  async put(key: string, value: string): Promise<void> {
    this.#ask(`put ${key}`)
    if (new TextEncoder().encode(key).byteLength > 512) throw new Error('414 key too long')
    await Promise.resolve()
    if (key === this.failsFor) throw new Error(`500 ${key}`)
    const now = Date.now()
    if (now < (this.#writtenAt.get(key) ?? -Infinity) + 1000) throw new Error('KV PUT failed: 429 Too Many Requests')
    this.#writtenAt.set(key, now)
    this.stored.set(key, value)
  }

  #ask(what: string): void {
    this.operations.push(what)
    if (this.failure) throw this.failure
  }
}

/** The same data as another isolate sees it. */
export function elsewhereOf(kv: FakeKv): ToolNamespace {
  return { get: (keys, type) => kv.get(keys, type), put: (key, value) => kv.put(key, value) }
}
