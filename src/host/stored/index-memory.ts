import { withDeadline } from '../../contract/time-limit.ts'
import { type CatalogueIndex, NO_INDEX, readIndex } from './copy.ts'

/** An isolate's cache of an index in KV. Values, never promises: a promise belongs to the request that made it. */
export interface IndexMemory<Write extends { readonly revision: number }> {
  index?: CatalogueIndex
  /** When the index was read, in epoch milliseconds. */
  readAt: number
  /** Writes that the catalogue has confirmed to this isolate, by key, until the copy holds them. */
  readonly ownWrites: Map<string, Write>
  /** Values that could not be used, to be cleared with every new index. */
  readonly unusable?: Map<string, unknown>
}

export const FRESH_MS = 10_000
/** How long KV may take to answer a read. */
const READ_MS = 2000

/** The part of a KV namespace that reads values. */
export interface ReadableNamespace {
  /** Reads at most 100 keys; the value of a key that is not there is null. */
  get(keys: string[], type: 'text'): Promise<Map<string, string | null>>
}

/** Reads values of the copy. Rejects if KV fails, or does not answer within two seconds. */
export function readCopy(
  namespace: ReadableNamespace,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  return withDeadline(READ_MS, namespace.get([...keys], 'text'))
}

/**
 * Returns the index, read again if it is older than ten seconds. An index of a lower revision than the cached one is
 * ignored, since KV may answer from a location that lags behind. Rejects if KV fails and no index is cached.
 */
export async function currentIndex<Write extends { readonly revision: number }>(
  namespace: ReadableNamespace,
  key: string,
  memory: IndexMemory<Write>,
  now: number,
): Promise<CatalogueIndex> {
  if (memory.index && now - memory.readAt < FRESH_MS) return memory.index
  // Of several callers at the same time the first reads, and the others use the cached index.
  if (memory.index) memory.readAt = now
  try {
    const text = (await readCopy(namespace, [key])).get(key)
    const freshIndex = typeof text === 'string' ? readIndex(text) : NO_INDEX
    memory.readAt = now
    memory.unusable?.clear()
    if (!memory.index || freshIndex.revision >= memory.index.revision) memory.index = freshIndex
    forgetOlder(memory.ownWrites, memory.index)
    return memory.index
  } catch (error) {
    if (memory.index) return memory.index
    throw error
  }
}

/** Forgets the writes that a copy of this revision has. */
export function forgetOlder(
  writes: Map<string, { readonly revision: number }>,
  { revision }: { readonly revision: number },
): void {
  for (const [name, write] of writes) if (write.revision <= revision) writes.delete(name)
}

/** Makes a write visible in this isolate at once. Returns false for a write that is not newer than the visible one. */
export function addOwnWrite<Write extends { readonly revision: number }>(
  { index, ownWrites }: IndexMemory<Write>,
  key: string,
  write: Write,
): boolean {
  // The catalogue's answers may overtake one another.
  const newest = Math.max(index?.revision ?? 0, ownWrites.get(key)?.revision ?? 0)
  if (write.revision <= newest) return false
  ownWrites.set(key, write)
  return true
}
