import { withDeadline } from '../../contract/time-limit.ts'
import type { UsableDefinition } from '../../contract/definition.ts'
import type { SearchableTools, ToolText } from '../../contract/tool.ts'
import {
  type CatalogueIndex,
  type CatalogueTerms,
  INDEX_KEY,
  NO_TERMS,
  readCatalogueTerms,
  TERMS_KEY,
  versionKey,
} from './copy.ts'
import { type CatalogueTexts, NO_TEXTS, readTexts, TEXTS_KEY } from './texts.ts'
import {
  addOwnWrite,
  currentIndex,
  forgetOlder,
  FRESH_MS,
  type IndexMemory,
  type ReadableNamespace,
  readCopy,
} from './index-memory.ts'
import type { Owner } from '../../contract/catalogue.ts'

/** The part of a KV namespace that is used here. */
export interface ToolNamespace extends ReadableNamespace {
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
  /** Returns the search index of the current versions and the writes that it lacks; or the texts, if there is none. */
  searchable(): Promise<SearchableTools>
  /** Returns the names of tools that may be offered by default. */
  offered(): Promise<readonly string[]>
  /** Returns the current versions of these names, as far as there are any. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>>
  /** Makes a write visible in this isolate at once. */
  own(name: string, write: OwnWrite): void
}

const KEYS_A_READ = 100
const MOST_REMEMBERED = 10_000
/** How long the Worker that checks definitions may take to read a hundred of them. */
const DEFINITIONS_MS = 10_000

interface Memory extends IndexMemory<OwnWrite> {
  /** Usable versions, by KV key. */
  readonly records: Map<string, UsableDefinition>
  /** Why a version cannot be used, by KV key; it is read again with every new index. */
  readonly unusable: Map<string, string>
  texts: CatalogueTexts
  /** When the texts were read, in epoch milliseconds. */
  textsAt: number
  terms: CatalogueTerms
  /** When the terms were read, in epoch milliseconds. */
  termsAt: number
  /** When the terms were last as new as the index, or were first read, in epoch milliseconds. */
  termsCurrentAt: number
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
  const texts = async () => {
    const { tools } = await currentTexts(namespace, memory, { index: await current(), now: now() })
    const { uncopiedTexts } = memory
    if (uncopiedTexts.size === 0) return tools
    const writtenTexts = [...uncopiedTexts.values()].flatMap(({ record }) => record?.definition ?? [])
    return [...tools.filter(({ name }) => !uncopiedTexts.has(name)), ...writtenTexts]
  }
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
    texts,
    searchable: async () => {
      const index = await current()
      const terms = await currentTerms(namespace, memory, { index, now: now() })
      if (terms.text === '') return { removed: [], texts: await texts() }
      const pendingWrites = [...memory.uncopiedTexts]
      const removed = pendingWrites.flatMap(([name, { record }]) => (record ? [] : [name]))
      const ownTexts = pendingWrites.flatMap(([, { record }]) => record?.definition ?? [])
      return { stored: terms.text, removed, texts: ownTexts.length > 0 ? ownTexts : NO_TEXTS.tools }
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
    ...{ terms: NO_TERMS, termsAt: -Infinity, termsCurrentAt: -Infinity },
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
  const values = await readCopy(namespace, [TEXTS_KEY]).catch(() => undefined)
  const text = values?.get(TEXTS_KEY)
  memory.textsAt = now
  const freshTexts = typeof text === 'string' ? readTexts(text, memory.texts) : NO_TEXTS
  if (freshTexts.revision > memory.texts.revision) memory.texts = freshTexts
  forgetOlder(memory.uncopiedTexts, memory.texts)
  return memory.texts
}

/** How far the terms may lag behind the index. An edge of an earlier version writes none. */
const MOST_LAG_MS = 60_000

/** Returns the terms in the same way; those of an index that is no longer written are not used. */
async function currentTerms(
  namespace: ToolNamespace,
  memory: Memory,
  { index, now }: { index: CatalogueIndex; now: number },
): Promise<CatalogueTerms> {
  if (memory.terms.revision < index.revision && now - memory.termsAt >= FRESH_MS) {
    const values = await readCopy(namespace, [TERMS_KEY]).catch(() => undefined)
    const text = values?.get(TERMS_KEY)
    if (memory.termsAt === -Infinity) memory.termsCurrentAt = now
    memory.termsAt = now
    const freshTerms = typeof text === 'string' ? readCatalogueTerms(text) : NO_TERMS
    if (freshTerms.revision > memory.terms.revision) memory.terms = freshTerms
    forgetOlder(memory.uncopiedTexts, memory.terms)
  }
  if (memory.terms.revision >= index.revision) memory.termsCurrentAt = now
  return now - memory.termsCurrentAt > MOST_LAG_MS ? NO_TERMS : memory.terms
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
    const values = await readCopy(
      namespace,
      keyedVersions.map(({ key }) => key),
    )
    const present = keyedVersions.flatMap((version) => {
      const text = values.get(version.key)
      return typeof text === 'string' ? [{ ...version, text }] : []
    })
    const newRecords =
      present.length === 0
        ? []
        : await withDeadline(DEFINITIONS_MS, readValues(present.map(({ name, text }) => ({ name, text }))))
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

/**
 * Returns an owner's part of the catalogue's copy. The keys of the edge's definitions have no prefix, those of a
 * tenant's begin with the owner: `tenant:acme/tools:index`.
 */
export function copyOf(namespace: ToolNamespace, owner: Owner): ToolNamespace {
  if (owner === 'edge') return namespace
  const keyOf = (key: string) => `${owner}/${key}`
  return {
    get: async (keys, type) => {
      const values = await namespace.get(keys.map(keyOf), type)
      return new Map(keys.map((key) => [key, values.get(keyOf(key)) ?? null]))
    },
    put: (key, value) => namespace.put(keyOf(key), value),
  }
}
