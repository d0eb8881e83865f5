import type { KeptDefinition, ReadDefinition } from '../../contract/definition.ts'
import { TOOL_NAME } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { messageOf } from '../thrown.ts'

/** The part of a KV namespace that is used here. */
export interface ToolNamespace {
  /** At most 100 keys; null where there is no value. */
  get(keys: string[], type: 'text'): Promise<Map<string, string | null>>
  put(key: string, value: string, options: { metadata: unknown }): Promise<void>
  delete(key: string): Promise<void>
  list(options: { prefix: string; cursor?: string }): Promise<ToolKeys>
}

interface ToolKeys {
  readonly keys: readonly { readonly name: string; readonly metadata?: unknown }[]
  readonly list_complete: boolean
  readonly cursor?: string
}

/** What a value came to: a definition of use, or why it is of none. */
export type StoredRecord = ReadDefinition | string

/** Reads values that are new, in their order. */
export type ReadValues = (kept: readonly { name: string; text: string }[]) => Promise<readonly StoredRecord[]>

/** What is read from KV, remembered in the isolate for ten seconds. */
export interface Shelf {
  /** The names of what is stored, and whether each may be offered by default. Rejects where KV cannot be read at all. */
  names(): Promise<ReadonlyMap<string, boolean>>
  /** What is stored under these names, or nothing. Older values stand in where KV fails. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, StoredRecord | undefined>>
  /** Asks KV itself, whatever is remembered. */
  has(name: string): Promise<boolean>
  write(name: string, kept: KeptDefinition, record: ReadDefinition): Promise<void>
  remove(name: string): Promise<void>
}

const PREFIX = 'tool:'
const FRESH_MS = 10_000
const KEYS_A_READ = 100
/** Whoever asks for more names than this is guessing. */
const MOST_REMEMBERED = 10_000

interface Entry {
  readonly at: number
  readonly text: string | null
  readonly record: StoredRecord | undefined
}

interface Memory {
  readonly entries: Map<string, Entry>
  names?: { readonly at: number; readonly offered: Map<string, boolean> }
  /** Own writes so far: what was read while one happened is not remembered. */
  writes: number
}

/** Values alone, never promises: those belong to the request that made them. */
const memories = new WeakMap<ToolNamespace, Memory>()

export function openShelf(namespace: ToolNamespace, readValues: ReadValues, now: () => number): Shelf {
  const memory = memories.get(namespace) ?? { entries: new Map<string, Entry>(), writes: 0 }
  memories.set(namespace, memory)
  const { entries } = memory
  const isFresh = ({ at }: { readonly at: number }) => now() - at < FRESH_MS
  const remember = (name: string, entry: Entry): void => {
    memory.writes += 1
    entries.set(name, entry)
  }
  return {
    names: async () => {
      const { writes, names } = memory
      if (names && isFresh(names)) return names.offered
      try {
        const offered = await listNames(namespace)
        if (memory.writes === writes) memory.names = { at: now(), offered }
        return offered
      } catch (error) {
        if (names) return names.offered
        throw error
      }
    },
    read: async (names) => {
      const found = new Map<string, StoredRecord | undefined>()
      const unknown: string[] = []
      for (const name of new Set(names)) {
        const entry = entries.get(name)
        if (entry && isFresh(entry)) found.set(name, entry.record)
        else if (TOOL_NAME.test(name) && !(memory.names && isFresh(memory.names) && !memory.names.offered.has(name))) {
          unknown.push(name)
        }
      }
      const reads = Array.from({ length: Math.ceil(unknown.length / KEYS_A_READ) }, async (_, index) => {
        const some = unknown.slice(index * KEYS_A_READ, (index + 1) * KEYS_A_READ)
        for (const [name, record] of await readSome({ namespace, memory, readValues, at: now() }, some))
          found.set(name, record)
      })
      await Promise.all(reads)
      return found
    },
    has: async (name) => typeof (await namespace.get([PREFIX + name], 'text')).get(PREFIX + name) === 'string',
    write: async (name, { text, metadata }, record) => {
      await namespace.put(PREFIX + name, text, { metadata })
      remember(name, { at: now(), text, record })
      memory.names?.offered.set(name, metadata.default)
    },
    remove: async (name) => {
      await namespace.delete(PREFIX + name)
      remember(name, { at: now(), text: null, record: undefined })
      memory.names?.offered.delete(name)
    },
  }
}

type Read = readonly [name: string, record: StoredRecord | undefined]

interface Reading {
  readonly namespace: ToolNamespace
  readonly memory: Memory
  readonly readValues: ReadValues
  readonly at: number
}

async function readSome({ namespace, memory, readValues, at }: Reading, names: readonly string[]): Promise<Read[]> {
  const { entries, writes } = memory
  try {
    const values = await namespace.get(
      names.map((name) => PREFIX + name),
      'text',
    )
    if (entries.size > MOST_REMEMBERED) entries.clear()
    const texts = names.map((name) => ({ name, text: values.get(PREFIX + name) ?? null }))
    const fresh = texts.filter((each): each is { name: string; text: string } => isNew(each, entries.get(each.name)))
    const read = fresh.length === 0 ? [] : await readValues(fresh)
    const records = new Map(fresh.map(({ name }, index) => [name, read[index]]))
    return texts.map(({ name, text }): Read => {
      const record = records.has(name) ? records.get(name) : text === null ? undefined : entries.get(name)?.record
      if (memory.writes === writes) entries.set(name, { at, text, record })
      return [name, record]
    })
  } catch (error) {
    const reason = `KV: ${messageOf(error)}`
    return names.map((name) => [name, entries.has(name) ? entries.get(name)?.record : reason])
  }
}

function isNew({ text }: { readonly text: string | null }, before?: Entry): boolean {
  return text !== null && before?.text !== text
}

/** Metadata that says nothing counts as offered: then the value is looked at. */
async function listNames(namespace: ToolNamespace): Promise<Map<string, boolean>> {
  const names = new Map<string, boolean>()
  let page: ToolKeys | undefined
  do {
    page = await namespace.list({ prefix: PREFIX, ...(page?.cursor !== undefined && { cursor: page.cursor }) })
    for (const { name, metadata } of page.keys) {
      names.set(name.slice(PREFIX.length), !isObject(metadata) || metadata['default'] !== false)
    }
  } while (!page.list_complete && page.cursor !== undefined)
  return names
}
