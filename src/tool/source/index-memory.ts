import { type CatalogueIndex, NO_INDEX, readIndex } from '../stored/copy.ts'

/** What an isolate remembers of an index in KV. Values alone, never promises: those belong to the request that made them. */
export interface IndexMemory<Write extends { readonly revision: number }> {
  index?: CatalogueIndex
  /** When the index was read. */
  at: number
  /** Writes that the catalogue has confirmed here, until the copy holds them. */
  readonly own: Map<string, Write>
  /** What is forgotten with every new index. */
  readonly useless?: Map<string, unknown>
}

export const FRESH_MS = 10_000

/**
 * The index, read anew where it is older than ten seconds. One that holds less than the one before it came from farther
 * away. Rejects where KV fails and none is remembered.
 */
export async function currentIndex<Write extends { readonly revision: number }>(
  namespace: { get(keys: string[], type: 'text'): Promise<ReadonlyMap<string, string | null>> },
  key: string,
  memory: IndexMemory<Write>,
  now: number,
): Promise<CatalogueIndex> {
  if (memory.index && now - memory.at < FRESH_MS) return memory.index
  // Of those who ask at the same time one reads, and the others go by what is remembered.
  if (memory.index) memory.at = now
  try {
    const text = (await namespace.get([key], 'text')).get(key)
    const read = typeof text === 'string' ? readIndex(text) : NO_INDEX
    memory.at = now
    memory.useless?.clear()
    if (!memory.index || read.revision >= memory.index.revision) memory.index = read
    forgetOlder(memory.own, memory.index)
    return memory.index
  } catch (error) {
    if (memory.index) return memory.index
    throw error
  }
}

/** Forgets the writes that the copy holds. */
export function forgetOlder(
  writes: Map<string, { readonly revision: number }>,
  { revision }: { readonly revision: number },
): void {
  for (const [name, write] of writes) if (write.revision <= revision) writes.delete(name)
}

/** Makes a write seen here at once; false for one that is older than what is seen. */
export function ownWrite<Write extends { readonly revision: number }>(
  { index, own }: IndexMemory<Write>,
  key: string,
  write: Write,
): boolean {
  // Answers may overtake one another.
  const newest = Math.max(index?.revision ?? 0, own.get(key)?.revision ?? 0)
  if (write.revision <= newest) return false
  own.set(key, write)
  return true
}
