import type { ToolSource, ToolText } from '../contract/tool.ts'

/**
 * Returns a function that asks a source for its search texts, or for its definitions if it has no `texts`. It returns
 * the same array while nothing has changed.
 */
export function textReader(source: ToolSource): () => Promise<readonly ToolText[]> {
  let last: readonly ToolText[] = []
  return async () => {
    const texts = source.texts ? await source.texts() : (await source.list()).tools.map(({ definition }) => definition)
    return (last = sameOr(last, texts))
  }
}

/** Returns the first of two lists if the second holds the same items, else the second. */
export function sameOr<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  if (before === now) return before
  return before.length === now.length && now.every((item, index) => item === before[index]) ? before : now
}

/** Returns about how many tools a source has. */
export async function toolCountOf(source: ToolSource): Promise<number> {
  return source.size ? source.size() : (await source.list()).tools.length
}
