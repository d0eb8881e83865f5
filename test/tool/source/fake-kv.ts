import type { ToolNamespace } from '../../../src/tool/source/shelf.ts'

const PAGE = 3

/** A KV namespace as the platform has it: bulk reads of 100, 1,024 bytes of metadata, pages with a cursor. */
export class FakeKv implements ToolNamespace {
  readonly stored = new Map<string, { value: string; metadata: unknown }>()
  /** What was asked of it, such as `get 2` and `list`. */
  readonly asked: string[] = []
  /** While it is set, everything fails with it. */
  failure: Error | undefined
  /** Called in the middle of each read. */
  during: () => void = () => {}

  async get(keys: string[], type: 'text'): Promise<Map<string, string | null>> {
    this.#ask(`get ${keys.length}`)
    if (keys.length > 100) throw new Error('400 You can request a maximum of 100 keys')
    if (type !== 'text') throw new Error('unknown type')
    const values = new Map(keys.map((key) => [key, this.stored.get(key)?.value ?? null]))
    await Promise.resolve()
    this.during()
    return values
  }

  async put(key: string, value: string, { metadata }: { metadata: unknown }): Promise<void> {
    this.#ask('put')
    if (new TextEncoder().encode(key).byteLength > 512) throw new Error('414 key too long')
    if (JSON.stringify(metadata).length > 1024) throw new Error('413 metadata too long')
    this.stored.set(key, { value, metadata: structuredClone(metadata) })
  }

  async delete(key: string): Promise<void> {
    this.#ask('delete')
    this.stored.delete(key)
  }

  async list({ prefix, cursor = '' }: { prefix: string; cursor?: string }): ReturnType<ToolNamespace['list']> {
    this.#ask('list')
    const keys = [...this.stored.keys()].filter((key) => key.startsWith(prefix) && key > cursor).sort()
    const page = keys.slice(0, PAGE).map((name) => ({ name, metadata: this.stored.get(name)?.metadata }))
    await Promise.resolve()
    this.during()
    const last = page.at(-1)?.name
    return keys.length > PAGE && last !== undefined
      ? { keys: page, list_complete: false, cursor: last }
      : { keys: page, list_complete: true }
  }

  #ask(what: string): void {
    this.asked.push(what)
    if (this.failure) throw this.failure
  }
}
