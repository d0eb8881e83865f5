import type { RankTools } from '../contract/decision.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { Tool } from '../contract/tool.ts'
import { keywordIndex, type KeywordOptions } from './keyword-index.ts'
import { searchTool, searchToolHash } from './search-tool.ts'
import { fingerprintOf, type ToolIndex, update } from './tool-index.ts'

export interface ToolSearchOptions extends KeywordOptions {
  /** Makes an empty index. Default: `createKeywordIndex`, with `translate`. */
  readonly index?: () => ToolIndex
  /** Decides which sessions to evict. Default: all but the 1,000 that were used last. */
  readonly eviction?: Eviction
  /** How many tools an answer names, 1 to 20, if the model does not say. Default 5. */
  readonly maxResults?: number
  /**
   * Returns what ranks the first 40 tools that a search has found, before the best of them are named; if that fails, their
   * order stays. Default: nothing does.
   */
  readonly ranking?: () => RankTools | undefined
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
interface SharedIndex {
  readonly index: ToolIndex
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly fingerprint: string
  readonly sessions: Set<string>
}

/** Keeps indexes for sessions, such as conversations. Sessions are evicted only when one is opened. */
export function createToolSearch(options: ToolSearchOptions = {}): ToolSearch {
  const { eviction = lruEviction(), maxResults = 5, ranking, translate } = options
  const create = options.index ?? (() => keywordIndex(undefined, { translate }))
  const bySession = new Map<string, SharedIndex>()
  const bySet = new Map<string, SharedIndex>()

  const release = (session: string) => {
    const shared = bySession.get(session)
    bySession.delete(session)
    shared?.sessions.delete(session)
    if (shared?.sessions.size === 0 && bySet.get(shared.fingerprint) === shared) bySet.delete(shared.fingerprint)
  }
  const evict = (session: string) => {
    release(session)
    eviction.onRemoved(session)
  }
  const prepare = async (session: string, tools: readonly ToolDefinition[]): Promise<SharedIndex> => {
    const fingerprint = await fingerprintOf(tools)
    const previous = bySession.get(session)
    if (previous?.fingerprint === fingerprint) return previous
    const isOnlySession = previous?.sessions.size === 1
    // Released before the update: no session may keep an index whose update fails half way.
    release(session)
    const existing = bySet.get(fingerprint)
    const shared = existing ?? (await fill(isOnlySession ? previous : undefined, tools, fingerprint))
    // The session may have been opened again meanwhile.
    release(session)
    shared.sessions.add(session)
    bySession.set(session, shared)
    bySet.set(fingerprint, shared)
    return shared
  }
  const fill = async (
    previous: SharedIndex | undefined,
    tools: readonly ToolDefinition[],
    fingerprint: string,
  ): Promise<SharedIndex> => {
    const index = previous?.index ?? create()
    const now = new Map(tools.map((tool) => [tool.name, tool]))
    await update(index, previous?.tools ?? new Map<string, ToolDefinition>(), now)
    return { index, tools: now, fingerprint, sessions: new Set() }
  }
  return {
    async open(session, tools) {
      eviction.onAccess(session).forEach(evict)
      const { index, tools: toolsByName } = await prepare(session, tools)
      const search = async (query: string, limit: number) =>
        (await index.search(query, limit)).map(({ name }) => ({
          name,
          description: toolsByName.get(name)?.description ?? '',
        }))
      return searchTool({ search, maxResults, ranking }, await searchToolHash())
    },
    evict,
  }
}

/** Decides which sessions to evict. It is called only when a session is used, and has no timer of its own. */
export interface Eviction {
  /** Records that a session is used now, and returns the sessions to evict. */
  onAccess(session: string): readonly string[]
  /** Forgets a session. Contract: called for each session that is evicted, whatever the reason. */
  onRemoved(session: string): void
}

/** Evicts all but the `most` sessions used last. Throws a RangeError unless `most` is an integer of at least 1. */
export function lruEviction(most = 1000): Eviction {
  if (!Number.isInteger(most) || most < 1) throw new RangeError(`Expected at least 1 session but received ${most}`)
  const sessions = new Set<string>()
  return {
    onAccess(session) {
      sessions.delete(session)
      sessions.add(session)
      return [...sessions.values().take(Math.max(0, sessions.size - most))]
    },
    onRemoved: (session) => void sessions.delete(session),
  }
}

/** Evicts sessions that were not used for `ms` milliseconds. Throws a RangeError unless `ms` is above 0. */
export function ttlEviction(ms: number, now: () => number = Date.now): Eviction {
  if (!(ms > 0)) throw new RangeError(`Expected a time above 0 ms but received ${ms}`)
  const usedAt = new Map<string, number>()
  return {
    onAccess(session) {
      const accessedAt = now()
      // Sessions are in the order of their last use, so the first recent one ends the search.
      usedAt.delete(session)
      const old: string[] = []
      for (const [candidate, lastUsed] of usedAt) {
        if (accessedAt - lastUsed < ms) break
        old.push(candidate)
      }
      usedAt.set(session, accessedAt)
      return old
    },
    onRemoved: (session) => void usedAt.delete(session),
  }
}

/** Evicts each session that any of these would evict. */
export function compositeEviction(...evictions: readonly [Eviction, ...Eviction[]]): Eviction {
  return {
    onAccess: (session) => [...new Set(evictions.flatMap((eviction) => eviction.onAccess(session)))],
    onRemoved: (session) => evictions.forEach((eviction) => eviction.onRemoved(session)),
  }
}

/** Keeps every session until `evict` is called for it. */
export function neverEviction(): Eviction {
  return { onAccess: () => [], onRemoved: () => {} }
}

/** Evicts a session each time it is used, so that its tools are indexed again. */
export function alwaysEviction(): Eviction {
  return { onAccess: (session) => [session], onRemoved: () => {} }
}
