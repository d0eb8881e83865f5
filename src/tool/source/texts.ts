import type { ToolSource, ToolText } from '../../contract/tool.ts'

/** Asks a source for its texts; a source that has none tells its definitions. Where nothing has changed, the same array. */
export function tellTexts(source: ToolSource): () => Promise<readonly ToolText[]> {
  let last: readonly ToolText[] = []
  return async () => {
    const texts = source.texts ? await source.texts() : (await source.list()).tools.map(({ definition }) => definition)
    return (last = sameOr(last, texts))
  }
}

/** The first of two lists where the second holds the same. */
export function sameOr<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  if (before === now) return before
  return before.length === now.length && now.every((item, index) => item === before[index]) ? before : now
}

/** About how many tools a source has. */
export async function sizeOf(source: ToolSource): Promise<number> {
  return source.size ? source.size() : (await source.list()).tools.length
}
