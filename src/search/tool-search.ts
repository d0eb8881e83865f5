import type { Tool, ToolDefinition } from '../contract/tool.ts'
import { type Eviction, lruEviction } from './eviction.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { searchTool, searchToolHash } from './search-tool.ts'
import { fingerprintOf, type ToolIndex, update } from './tool-index.ts'

export interface ToolSearchOptions {
  /** Makes an empty index. Default: `createKeywordIndex`. */
  readonly index?: () => ToolIndex
  /** Decides which sessions to evict. Default: all but the 1,000 that were used last. */
  readonly eviction?: Eviction
  /** How many tools an answer names, 1 to 20, if the model does not say. Default 5. */
  readonly maxResults?: number
}

export interface ToolSearch {
  /**
   * Returns the search tool for these tools. They are indexed unless this session, or another, has an index of the same
   * set; if the tools of a session have changed, and no other session shares its index, that index is updated. Rejects
   * with the error of the index.
   */
  open(session: string, tools: readonly ToolDefinition[]): Promise<Tool>
  /** Forgets a session. Search tools that it was given still work. */
  evict(session: string): void
}

/** An index with its tools, shared by all sessions of the same set. */
interface Kept {
  readonly index: ToolIndex
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly fingerprint: string
  readonly sessions: Set<string>
}

/** Keeps indexes for sessions, such as conversations. Sessions are evicted only when one is opened. */
export function createToolSearch(options: ToolSearchOptions = {}): ToolSearch {
  const { index: create = createKeywordIndex, eviction = lruEviction(), maxResults = 5 } = options
  const bySession = new Map<string, Kept>()
  const bySet = new Map<string, Kept>()

  const release = (session: string) => {
    const kept = bySession.get(session)
    bySession.delete(session)
    kept?.sessions.delete(session)
    if (kept?.sessions.size === 0 && bySet.get(kept.fingerprint) === kept) bySet.delete(kept.fingerprint)
  }
  const evict = (session: string) => {
    release(session)
    eviction.onRemoved(session)
  }
  const prepare = async (session: string, tools: readonly ToolDefinition[]): Promise<Kept> => {
    const fingerprint = await fingerprintOf(tools)
    const before = bySession.get(session)
    if (before?.fingerprint === fingerprint) return before
    const alone = before?.sessions.size === 1
    // Released before the update: no session may keep an index whose update fails half way.
    release(session)
    const known = bySet.get(fingerprint)
    const kept = known ?? (await fill(alone ? before : undefined, tools, fingerprint))
    // The session may have been opened again meanwhile.
    release(session)
    kept.sessions.add(session)
    bySession.set(session, kept)
    bySet.set(fingerprint, kept)
    return kept
  }
  const fill = async (
    before: Kept | undefined,
    tools: readonly ToolDefinition[],
    fingerprint: string,
  ): Promise<Kept> => {
    const index = before?.index ?? create()
    const now = new Map(tools.map((tool) => [tool.name, tool]))
    await update(index, before?.tools ?? new Map<string, ToolDefinition>(), now)
    return { index, tools: now, fingerprint, sessions: new Set() }
  }
  return {
    async open(session, tools) {
      eviction.onAccess(session).forEach(evict)
      const { index, tools: known } = await prepare(session, tools)
      const search = async (query: string, limit: number) =>
        (await index.search(query, limit)).map(({ name }) => ({
          name,
          description: known.get(name)?.description ?? '',
        }))
      return searchTool({ search, maxResults }, await searchToolHash())
    },
    evict,
  }
}
