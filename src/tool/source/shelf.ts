import type { ReadDefinition } from '../../contract/definition.ts'
import type { ToolText } from '../../contract/tool.ts'
import { type CatalogueIndex, INDEX_KEY, versionKey } from '../stored/copy.ts'
import { type CatalogueTexts, NO_TEXTS, readTexts, TEXTS_KEY } from '../stored/texts.ts'
import { messageOf } from '../thrown.ts'
import { currentIndex, forgetOlder, FRESH_MS, type IndexMemory, ownWrite } from './index-memory.ts'

/** The part of a KV namespace that is used here. */
export interface ToolNamespace {
  /** At most 100 keys; null where there is no value. */
  get(keys: string[], type: 'text'): Promise<Map<string, string | null>>
  put(key: string, value: string): Promise<void>
}

/** What a value came to: a definition of use, or why it is of none. */
export type StoredRecord = ReadDefinition | string

/** Reads values that are new, in their order. */
export type ReadValues = (kept: readonly { name: string; text: string }[]) => Promise<readonly StoredRecord[]>

/** A write that the catalogue has confirmed, and its copy may not hold yet. */
export interface OwnWrite {
  readonly revision: number
  /** Absent for a removal. */
  readonly record?: ReadDefinition
}

/**
 * What is read of the catalogue's copy, remembered in the isolate: the index for ten seconds, versions for good. Methods
 * reject where KV fails and no index is remembered; an older one stands in otherwise.
 */
export interface Shelf {
  names(): Promise<readonly string[]>
  /** How many there are; what was written here and nowhere else yet may count twice. */
  size(): Promise<number>
  /** What the current versions can be found by; the same array while nothing has changed. */
  texts(): Promise<readonly ToolText[]>
  /** What may be offered by default. */
  offered(): Promise<readonly string[]>
  /** The current versions of these names, as far as there are any. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>>
  /** Makes a write seen here at once. */
  own(name: string, write: OwnWrite): void
}

const KEYS_A_READ = 100
const MOST_REMEMBERED = 10_000

interface Memory extends IndexMemory<OwnWrite> {
  /** By key. */
  readonly records: Map<string, ReadDefinition>
  /** Those of no use, by key; looked at again with every new index. */
  readonly useless: Map<string, string>
  texts: CatalogueTexts
  /** When the texts were read. */
  textsAt: number
  /** Writes made here, until the texts hold them, which come after the index. */
  readonly untold: Map<string, OwnWrite>
}

/** Values alone, never promises: those belong to the request that made them. */
const memories = new WeakMap<ToolNamespace, Memory>()

export function openShelf(namespace: ToolNamespace, readValues: ReadValues, now: () => number): Shelf {
  const memory = memories.get(namespace) ?? newMemory()
  memories.set(namespace, memory)
  const { own, records, useless } = memory
  const current = () => currentIndex(namespace, INDEX_KEY, memory, now())
  const ownNames = (isWanted: (record: ReadDefinition) => boolean) =>
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
        for (const [name, record] of await readSome(namespace, memory, readValues, some)) found.set(name, record)
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

/** The texts, read anew where the index is newer. They come after it; older ones stand in until then. */
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

/** Reads at most 100 versions. One that is not what its key says is of no use. */
async function readSome(
  namespace: ToolNamespace,
  { records, useless }: Memory,
  readValues: ReadValues,
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
    return versions.map(({ name }) => [name, `KV: ${messageOf(error)}`])
  }
}

const CHANGED = 'the definition has changed since it was stored: its hash is another'
const MISSING = 'KV: the version is not there yet'
