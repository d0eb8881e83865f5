import type { UsableDefinition } from '../../contract/definition.ts'
import type { ToolText } from '../../contract/tool.ts'
import { type CatalogueIndex, INDEX_KEY, versionKey } from './copy.ts'
import { type CatalogueTexts, NO_TEXTS, readTexts, TEXTS_KEY } from './texts.ts'
import { currentIndex, forgetOlder, FRESH_MS, type IndexMemory, ownWrite } from './index-memory.ts'

/** The part of a KV namespace that is used here. */
export interface ToolNamespace {
  /** Reads at most 100 keys; the value of a key that is not there is null. */
  get(keys: string[], type: 'text'): Promise<Map<string, string | null>>
  put(key: string, value: string): Promise<void>
}

/** A definition that was read from a stored value, or the reason why the value cannot be used. */
export type StoredRecord = UsableDefinition | string

/** Turns stored values into records, in their order. */
export type ReadValues = (kept: readonly { name: string; text: string }[]) => Promise<readonly StoredRecord[]>

/** A write of this isolate that the catalogue has confirmed, and that its copy may not hold yet. */
export interface OwnWrite {
  readonly revision: number
  /** Absent for a removal. */
  readonly record?: UsableDefinition
}

/**
 * The isolate's cache of the catalogue's copy: the index is kept for ten seconds, versions as long as there is room.
 * Methods reject if KV fails and no index is cached; otherwise an older index is used.
 */
export interface VersionCache {
  names(): Promise<readonly string[]>
  /** Returns the number of tools; a tool that was written here may count twice until the copy holds the write. */
  size(): Promise<number>
  /** Returns the current versions' search texts; the same array while nothing has changed and no write is pending. */
  texts(): Promise<readonly ToolText[]>
  /** Returns the names of tools that may be offered by default. */
  offered(): Promise<readonly string[]>
  /** Returns the current versions of these names, as far as there are any. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>>
  /** Makes a write visible in this isolate at once. */
  own(name: string, write: OwnWrite): void
}

const KEYS_A_READ = 100
const MOST_REMEMBERED = 10_000

interface Memory extends IndexMemory<OwnWrite> {
  /** Usable versions, by KV key. */
  readonly records: Map<string, UsableDefinition>
  /** Why a version cannot be used, by KV key; it is read again with every new index. */
  readonly useless: Map<string, string>
  texts: CatalogueTexts
  /** When the texts were read, in epoch milliseconds. */
  textsAt: number
  /** Writes of this isolate, by name, until the texts hold them; the catalogue copies the texts after the index. */
  readonly untold: Map<string, OwnWrite>
}

/** Caches by namespace. They hold values, never promises: a promise belongs to the request that made it. */
const memories = new WeakMap<ToolNamespace, Memory>()

export interface CachePorts {
  readonly readValues: ReadValues
  /** Reports an error of KV to operators. Returns the reason to give to callers. */
  readonly fail: (error: unknown) => string
  readonly now: () => number
}

export function openVersionCache(namespace: ToolNamespace, ports: CachePorts): VersionCache {
  const { now } = ports
  const memory = memories.get(namespace) ?? newMemory()
  memories.set(namespace, memory)
  const { own, records, useless } = memory
  const current = () => currentIndex(namespace, INDEX_KEY, memory, now())
  const ownNames = (isWanted: (record: UsableDefinition) => boolean) =>
    [...own].flatMap(([name, { record }]) => (record && isWanted(record) ? [name] : []))
  return {
    names: async () => {
      const index = await current()
      return [...index.names().filter((name) => !own.has(name)), ...ownNames(() => true)]
    },
    offered: async () => {
      const index = await current()
      return [...index.offered.filter((name) => !own.has(name)), ...ownNames(({ offered }) => offered)]
    },
    size: async () => (await current()).size + own.size,
    texts: async () => {
      const { tools } = await currentTexts(namespace, memory, { index: await current(), now: now() })
      const { untold } = memory
      if (untold.size === 0) return tools
      const written = [...untold.values()].flatMap(({ record }) => record?.definition ?? [])
      return [...tools.filter(({ name }) => !untold.has(name)), ...written]
    },
    read: async (names) => {
      const index = await current()
      const found = new Map<string, StoredRecord>()
      const unread: Version[] = []
      for (const name of new Set(names)) {
        const write = own.get(name)
        const hash = write ? write.record?.definition.hash : index.hashOf(name)
        if (hash === undefined) continue
        const key = versionKey(name, hash)
        const record = write?.record ?? records.get(key) ?? useless.get(key)
        if (record === undefined) unread.push({ name, hash })
        else found.set(name, record)
      }
      const reads = Array.from({ length: Math.ceil(unread.length / KEYS_A_READ) }, async (_, part) => {
        const some = unread.slice(part * KEYS_A_READ, (part + 1) * KEYS_A_READ)
        for (const [name, record] of await readSome(namespace, memory, ports, some)) found.set(name, record)
      })
      await Promise.all(reads)
      return found
    },
    own: (name, write) => {
      if (ownWrite(memory, name, write)) memory.untold.set(name, write)
    },
  }
}

function newMemory(): Memory {
  return {
    ...{ at: -Infinity, own: new Map(), records: new Map(), useless: new Map() },
    ...{ texts: NO_TEXTS, textsAt: -Infinity, untold: new Map() },
  }
}

interface Version {
  readonly name: string
  readonly hash: string
}

/** Returns the texts, read again if the index is newer. They are copied after the index; until then older ones do. */
async function currentTexts(
  namespace: ToolNamespace,
  memory: Memory,
  { index, now }: { index: CatalogueIndex; now: number },
): Promise<CatalogueTexts> {
  if (memory.texts.revision >= index.revision || now - memory.textsAt < FRESH_MS) return memory.texts
  const values = await namespace.get([TEXTS_KEY], 'text').catch(() => undefined)
  const text = values?.get(TEXTS_KEY)
  memory.textsAt = now
  const read = typeof text === 'string' ? readTexts(text, memory.texts) : NO_TEXTS
  if (read.revision > memory.texts.revision) memory.texts = read
  forgetOlder(memory.untold, memory.texts)
  return memory.texts
}

/** Reads at most 100 versions. A version whose hash is not the one in its key cannot be used. */
async function readSome(
  namespace: ToolNamespace,
  { records, useless }: Memory,
  { readValues, fail }: CachePorts,
  versions: readonly Version[],
): Promise<(readonly [name: string, record: StoredRecord])[]> {
  try {
    const keyed = versions.map((version) => ({ ...version, key: versionKey(version.name, version.hash) }))
    const values = await namespace.get(
      keyed.map(({ key }) => key),
      'text',
    )
    const there = keyed.flatMap((version) => {
      const text = values.get(version.key)
      return typeof text === 'string' ? [{ ...version, text }] : []
    })
    const read = there.length === 0 ? [] : await readValues(there.map(({ name, text }) => ({ name, text })))
    if (records.size + there.length > MOST_REMEMBERED) records.clear()
    for (const [index, { key, hash }] of there.entries()) {
      const record = read[index] ?? 'it was not read'
      if (typeof record === 'string') useless.set(key, record)
      else if (record.definition.hash !== hash) useless.set(key, CHANGED)
      else records.set(key, record)
    }
    return keyed.map(({ name, key }) => [name, records.get(key) ?? useless.get(key) ?? MISSING])
  } catch (error) {
    const reason = fail(error)
    return versions.map(({ name }) => [name, reason])
  }
}

const CHANGED = 'the definition has changed since it was stored: its hash is another'
const MISSING = 'KV: the version is not there yet'
