import { TOOL_NAME } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { type KvRecord, readRecord, type WrittenRecord } from './kv-record.ts'
import { messageOf } from './thrown.ts'

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

/** What is read from KV, remembered in the isolate for ten seconds. */
export interface KvShelf {
  /** The names of what is stored, and whether each may be offered by default. Rejects where KV cannot be read at all. */
  names(): Promise<ReadonlyMap<string, boolean>>
  /** What is stored under these names; a name that is missing is not stored. Older values stand in where KV fails. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, KvRecord>>
  /** Asks KV itself, whatever is remembered. */
  has(name: string): Promise<boolean>
  write(name: string, record: WrittenRecord): Promise<void>
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
  /** Kept for as long as the text stays the same, so that what hangs on its schema is kept too. */
  readonly record?: KvRecord
}

interface Memory {
  readonly entries: Map<string, Entry>
  names?: { readonly at: number; readonly offered: ReadonlyMap<string, boolean> }
  /** Own writes so far: what was read while one happened is not remembered. */
  writes: number
}

/** Values alone, never promises: those belong to the request that made them. */
const memories = new WeakMap<ToolNamespace, Memory>()

export function kvShelf(namespace: ToolNamespace, now: () => number): KvShelf {
  const memory = memories.get(namespace) ?? { entries: new Map<string, Entry>(), writes: 0 }
  memories.set(namespace, memory)
  const isFresh = (kept?: { readonly at: number }) => kept !== undefined && now() - kept.at < FRESH_MS
  const freshEntry = (name: string) => {
    const entry = memory.entries.get(name)
    return isFresh(entry) ? entry : undefined
  }
  const isKnown = (name: string) =>
    freshEntry(name) !== undefined || (isFresh(memory.names) && memory.names?.offered.has(name) === false)
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
      const wanted = [...new Set(names)].filter((name) => TOOL_NAME.test(name))
      const known = wanted.filter(isKnown).map((name) => [name, freshEntry(name)] as const)
      const unknown = wanted.filter((name) => !isKnown(name))
      const fetched = chunks(unknown, KEYS_A_READ).map((chunk) => fetchEntries(namespace, memory, chunk, now()))
      const entries = [...known, ...(await Promise.all(fetched)).flat()]
      const records = entries.map(async ([name, entry]) => [name, await recordOf(memory, name, entry)] as const)
      return new Map((await Promise.all(records)).flatMap(([name, record]) => (record ? [[name, record]] : [])))
    },
    has: async (name) => typeof (await namespace.get([keyOf(name)], 'text')).get(keyOf(name)) === 'string',
    write: async (name, { text, metadata }) => {
      await namespace.put(keyOf(name), text, { metadata })
      remember(memory, name, { at: now(), text }, metadata.default)
    },
    remove: async (name) => {
      await namespace.delete(keyOf(name))
      remember(memory, name, { at: now(), text: null })
    },
  }
}

type Fetched = readonly [name: string, entry: Entry | Error]

async function fetchEntries(
  namespace: ToolNamespace,
  memory: Memory,
  names: readonly string[],
  at: number,
): Promise<Fetched[]> {
  const { writes, entries } = memory
  try {
    const texts = await namespace.get(names.map(keyOf), 'text')
    const fetched = names.map((name) => {
      const text = texts.get(keyOf(name)) ?? null
      const before = entries.get(name)
      return [name, { ...(before?.text === text && before), at, text }] as const
    })
    if (entries.size > MOST_REMEMBERED) entries.clear()
    if (memory.writes === writes) for (const [name, entry] of fetched) entries.set(name, entry)
    return fetched
  } catch (error) {
    return names.map((name) => [name, entries.get(name) ?? new Error(`KV: ${messageOf(error)}`)])
  }
}

async function recordOf(memory: Memory, name: string, entry: Entry | Error | undefined): Promise<KvRecord | undefined> {
  if (entry instanceof Error) return { ok: false, reason: entry.message }
  if (!entry || entry.text === null) return undefined
  if (entry.record) return entry.record
  const record = await readRecord(name, entry.text)
  if (memory.entries.get(name) === entry) memory.entries.set(name, { ...entry, record })
  return record
}

/** Notes a write of this isolate's own; `offered` is absent where it was a removal. */
function remember(memory: Memory, name: string, entry: Entry, offered?: boolean): void {
  memory.writes += 1
  memory.entries.set(name, entry)
  if (!memory.names) return
  const names = new Map(memory.names.offered)
  if (offered === undefined) names.delete(name)
  else names.set(name, offered)
  memory.names = { at: memory.names.at, offered: names }
}

function keyOf(name: string): string {
  return PREFIX + name
}

/** Metadata that says nothing counts as offered: then the value is looked at. */
async function listNames(namespace: ToolNamespace): Promise<ReadonlyMap<string, boolean>> {
  const names = new Map<string, boolean>()
  let cursor: string | undefined
  do {
    const page = await namespace.list({ prefix: PREFIX, ...(cursor !== undefined && { cursor }) })
    for (const { name, metadata } of page.keys) {
      names.set(name.slice(PREFIX.length), !isObject(metadata) || metadata['default'] !== false)
    }
    cursor = page.list_complete ? undefined : page.cursor
  } while (cursor !== undefined)
  return names
}

function chunks(names: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, index) =>
    names.slice(index * size, (index + 1) * size),
  )
}
