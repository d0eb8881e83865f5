import type { UsableDefinition } from '../../contract/definition.ts'
import type { ToolText } from '../../contract/tool.ts'
import { type CatalogueIndex, INDEX_KEY, versionKey } from './copy.ts'
import { type CatalogueTexts, NO_TEXTS, readTexts, TEXTS_KEY } from './texts.ts'
import { currentIndex, forgetOlder, FRESH_MS, type IndexMemory, addOwnWrite } from './index-memory.ts'

/** The part of a KV namespace that is used here. */
export interface ToolNamespace {
  /** Reads at most 100 keys; the value of a key that is not there is null. */
  get(keys: string[], type: 'text'): Promise<Map<string, string | null>>
  put(key: string, value: string): Promise<void>
}

/** A definition that was read from a stored value, or the reason why the value cannot be used. */
export type StoredRecord = UsableDefinition | string

/** Turns stored values into records, in their order. */
export type ReadValues = (values: readonly { name: string; text: string }[]) => Promise<readonly StoredRecord[]>

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
  readonly unusable: Map<string, string>
  texts: CatalogueTexts
  /** When the texts were read, in epoch milliseconds. */
  textsAt: number
  /** Writes of this isolate, by name, until the texts hold them; the catalogue copies the texts after the index. */
  readonly uncopiedTexts: Map<string, OwnWrite>
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
  const { ownWrites, records, unusable } = memory
  const current = () => currentIndex(namespace, INDEX_KEY, memory, now())
  const ownNames = (isWanted: (record: UsableDefinition) => boolean) =>
    [...ownWrites].flatMap(([name, { record }]) => (record && isWanted(record) ? [name] : []))
  return {
    names: async () => {
      const index = await current()
      return [...index.names().filter((name) => !ownWrites.has(name)), ...ownNames(() => true)]
    },
    offered: async () => {
      const index = await current()
      return [...index.offered.filter((name) => !ownWrites.has(name)), ...ownNames(({ offered }) => offered)]
    },
    size: async () => (await current()).size + ownWrites.size,
    texts: async () => {
      const { tools } = await currentTexts(namespace, memory, { index: await current(), now: now() })
      const { uncopiedTexts } = memory
      if (uncopiedTexts.size === 0) return tools
      const writtenTexts = [...uncopiedTexts.values()].flatMap(({ record }) => record?.definition ?? [])
      return [...tools.filter(({ name }) => !uncopiedTexts.has(name)), ...writtenTexts]
    },
    read: async (names) => {
      const index = await current()
      const recordsByName = new Map<string, StoredRecord>()
      const missing: Version[] = []
      for (const name of new Set(names)) {
        const write = ownWrites.get(name)
        const hash = write ? write.record?.definition.hash : index.hashOf(name)
        if (hash === undefined) continue
        const key = versionKey(name, hash)
        const record = write?.record ?? records.get(key) ?? unusable.get(key)
        if (record === undefined) missing.push({ name, hash })
        else recordsByName.set(name, record)
      }
      const reads = Array.from({ length: Math.ceil(missing.length / KEYS_A_READ) }, async (_, part) => {
        const batch = missing.slice(part * KEYS_A_READ, (part + 1) * KEYS_A_READ)
        for (const [name, record] of await readBatch(namespace, memory, ports, batch)) recordsByName.set(name, record)
      })
      await Promise.all(reads)
      return recordsByName
    },
    own: (name, write) => {
      if (addOwnWrite(memory, name, write)) memory.uncopiedTexts.set(name, write)
    },
  }
}

function newMemory(): Memory {
  return {
    ...{ readAt: -Infinity, ownWrites: new Map(), records: new Map(), unusable: new Map() },
    ...{ texts: NO_TEXTS, textsAt: -Infinity, uncopiedTexts: new Map() },
  }
}

interface Version {
  readonly name: string
  readonly hash: string
}

/**
 * Returns the texts, read again if the index is newer. They are copied after the index; until then, older texts are
 * used.
 */
async function currentTexts(
  namespace: ToolNamespace,
  memory: Memory,
  { index, now }: { index: CatalogueIndex; now: number },
): Promise<CatalogueTexts> {
  if (memory.texts.revision >= index.revision || now - memory.textsAt < FRESH_MS) return memory.texts
  const values = await namespace.get([TEXTS_KEY], 'text').catch(() => undefined)
  const text = values?.get(TEXTS_KEY)
  memory.textsAt = now
  const freshTexts = typeof text === 'string' ? readTexts(text, memory.texts) : NO_TEXTS
  if (freshTexts.revision > memory.texts.revision) memory.texts = freshTexts
  forgetOlder(memory.uncopiedTexts, memory.texts)
  return memory.texts
}

/** Reads at most 100 versions. A version whose hash is not the one in its key cannot be used. */
async function readBatch(
  namespace: ToolNamespace,
  { records, unusable }: Memory,
  { readValues, fail }: CachePorts,
  versions: readonly Version[],
): Promise<(readonly [name: string, record: StoredRecord])[]> {
  try {
    const keyedVersions = versions.map((version) => ({ ...version, key: versionKey(version.name, version.hash) }))
    const values = await namespace.get(
      keyedVersions.map(({ key }) => key),
      'text',
    )
    const present = keyedVersions.flatMap((version) => {
      const text = values.get(version.key)
      return typeof text === 'string' ? [{ ...version, text }] : []
    })
    const newRecords = present.length === 0 ? [] : await readValues(present.map(({ name, text }) => ({ name, text })))
    if (records.size + present.length > MOST_REMEMBERED) records.clear()
    for (const [index, { key, hash }] of present.entries()) {
      const record = newRecords[index] ?? 'it was not read'
      if (typeof record === 'string') unusable.set(key, record)
      else if (record.definition.hash !== hash) unusable.set(key, CHANGED)
      else records.set(key, record)
    }
    return keyedVersions.map(({ name, key }) => [name, records.get(key) ?? unusable.get(key) ?? MISSING])
  } catch (error) {
    const reason = fail(error)
    return versions.map(({ name }) => [name, reason])
  }
}

const CHANGED = 'the definition has changed since it was stored: its hash differs'
const MISSING = 'KV does not have the version yet'
