import type { Report } from '../../contract/setup.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import {
  type SearchableTools,
  type Tool,
  type ToolListing,
  type ToolSource,
  toolNamesOf,
  ToolsUnavailable,
  type ToolText,
  type Unavailable,
} from '../../contract/tool.ts'
import { sameOr, textReader, toolCountOf } from '../../search/source-texts.ts'
import { messageOf } from '../../contract/thrown.ts'

/**
 * Combines several sources into one. The same tool from two of them, by name and hash, is one tool; a name with two
 * definitions is listed as unavailable at both places, and cannot be called. A source that fails is listed as
 * unavailable and reported, and hides no other.
 */
export function chain(sources: readonly ToolSource[], report?: Report): ToolSource {
  return combine(sources, merge, report)
}

/**
 * Combines several sources into one, of which the earlier take precedence: a later tool of a name that an earlier
 * source has is held back and listed with the reason. So a source can neither replace a tool of an earlier one, nor
 * make it unavailable. A source that fails is listed as unavailable and reported, and hides no other.
 */
export function inOrder(sources: readonly ToolSource[], report?: Report): Required<ToolSource> {
  return combine(sources, mergeInOrder, report)
}

/** How long a source may take to answer. */
const LIST_MS = 15_000

function combine(
  sources: readonly ToolSource[],
  mergeListings: typeof merge,
  report: Report = () => {},
): Required<ToolSource> {
  const isOrdered = mergeListings === mergeInOrder
  const find = async (names: readonly string[]): Promise<readonly Tool[]> => {
    if (names.length === 0) return []
    const answers = sources.map((source) => answerOf(source.find(names)))
    const listings: ToolListing[] = []
    const missing = new Set(names)
    let fault: ToolsUnavailable | undefined
    for (const answer of answers) {
      // What later sources have of these names is held back anyway, so nobody waits for them.
      if (isOrdered && missing.size === 0) break
      const { tools, fault: own } = await answer
      fault ??= own
      listings.push({ tools, unavailable: [] })
      for (const { definition } of tools) missing.delete(definition.name)
    }
    if (fault && missing.size > 0) throw fault
    return mergeListings(listings).tools
  }
  const textReaders = sources.map(textReader)
  let parts: readonly (readonly ToolText[])[] = []
  let texts: readonly ToolText[] = []
  const join = (current: readonly (readonly ToolText[])[]): readonly ToolText[] => {
    if (sameOr(parts, current) === parts) return texts
    parts = current
    return (texts = current.flat())
  }
  return {
    find,
    names: async (names) => {
      const answers = await Promise.allSettled(
        sources.map((source) => withDeadline(LIST_MS, toolNamesOf(source, names))),
      )
      const entries = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [...answer.value] : []))
      // A name that is hidden in one source may be visible in another.
      const visible = entries.filter(([, standing]) => standing === 'visible')
      const all = new Map([...entries, ...visible])
      const fault = answers.find((answer) => answer.status === 'rejected')
      if (!fault || names.every((name) => all.has(name))) return all
      throw fault.reason instanceof ToolsUnavailable ? fault.reason : new ToolsUnavailable(CANNOT_TELL)
    },
    list: async (page) => {
      const listings = await Promise.all(
        sources.map((source, index) => withDeadline(LIST_MS, source.list(page)).catch(brokenSource(index, report))),
      )
      const isPaged = listings.some(({ total }) => total !== undefined)
      return { ...mergeListings(listings), ...(isPaged && { total: totalOf(listings, page?.origin) }) }
    },
    offered: async () => {
      const offered = await Promise.all(sources.map((source) => answerOf(source.offered())))
      const fault = offered.find((answer) => answer.fault)?.fault
      if (fault) throw fault
      // Looked up again by name: a tool that is not offered may be in conflict with one that is.
      const tools = await find(offered.flatMap(({ tools }) => tools.map((tool) => tool.definition.name)))
      return tools.filter((tool) => tool.offered)
    },
    size: async () => {
      const sizes = await Promise.all(sources.map((source) => toolCountOf(source).catch(() => 0)))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
    texts: async () => {
      return join(await Promise.all(textReaders.map((readTexts) => readTexts().catch(() => NO_TEXTS))))
    },
    searchable: async () => {
      const indexed = sources.findIndex((source) => 'searchable' in source)
      const [searchable = ALL_IN_TEXTS, ...others] = await Promise.all([
        sources[indexed]?.searchable?.(),
        ...textReaders.map(async (readTexts, at) => (at === indexed ? NO_TEXTS : readTexts().catch(() => NO_TEXTS))),
      ])
      return { ...searchable, texts: join([searchable.texts, ...others]) }
    },
  }
}

const CANNOT_TELL = 'Some tools of this edge cannot be listed now.'

/** Returns the tools of a source; none if it rejects, with the error if it cannot tell now which it has. */
async function answerOf(
  answer: Promise<readonly Tool[]>,
): Promise<{ readonly tools: readonly Tool[]; readonly fault?: ToolsUnavailable }> {
  try {
    return { tools: await withDeadline(LIST_MS, answer) }
  } catch (error) {
    return { tools: [], ...(error instanceof ToolsUnavailable && { fault: error }) }
  }
}

function totalOf(listings: readonly ToolListing[], origin: string | undefined): number {
  const count = (all: readonly { readonly origin: string }[]) =>
    origin === undefined ? all.length : all.filter((each) => each.origin === origin).length
  return listings.reduce((sum, { tools, unavailable, total }) => sum + (total ?? count(tools) + count(unavailable)), 0)
}

const NO_TEXTS: readonly ToolText[] = []
const ALL_IN_TEXTS: SearchableTools = { removed: [], texts: NO_TEXTS }

/** Lists a source that rejected as unavailable. Sources must not reject: the fault is in this Worker's own code. */
function brokenSource(index: number, report: Report): (error: unknown) => ToolListing {
  return (error) => {
    const place = `source ${index + 1}`
    report({ event: 'tools.unavailable', place, detail: messageOf(error) })
    return { tools: [], unavailable: [{ origin: 'inline', place, reason: 'it failed to list its tools' }] }
  }
}

/**
 * Merges the listings of several places. Of tools with one name and hash, the first that is offered stays, else the
 * first. Of tools with one name and several hashes none stays, since a call could mean any of them: each place is
 * listed as unavailable, with the names of the places in conflict.
 */
export function merge(listings: readonly ToolListing[]): ToolListing {
  const conflicts: Unavailable[] = []
  const all = listings.flatMap((listing) => listing.tools)
  // Usually each name occurs once.
  if (new Set(all.map((tool) => tool.definition.name)).size === all.length) {
    return { tools: all, unavailable: listings.flatMap((listing) => listing.unavailable) }
  }
  const tools = [...Map.groupBy(all, (tool) => tool.definition.name)].flatMap(([name, namesakes]): readonly Tool[] => {
    const hashes = new Set(namesakes.map((tool) => tool.definition.hash))
    if (hashes.size === 1) return [...namesakes.filter((tool) => tool.offered), ...namesakes].slice(0, 1)
    const places = [...new Set(namesakes.map((tool) => tool.place))].join(' and ')
    const reason = `The tool "${name}" is defined differently by ${places}; none of them is called.`
    conflicts.push(...namesakes.map(({ origin, place }) => ({ origin, place, reason, name })))
    return []
  })
  return { tools, unavailable: [...listings.flatMap((listing) => listing.unavailable), ...conflicts] }
}

/** Merges the listings of several sources, the first of which takes precedence over those after it, and so on. */
export function mergeInOrder(listings: readonly ToolListing[]): ToolListing {
  const first = new Map<string, Tool>()
  const heldTools: Unavailable[] = []
  for (const tool of listings.flatMap(({ tools }) => tools)) {
    const { name } = tool.definition
    const winner = first.get(name)
    if (winner) {
      const reason = `The tool "${name}" of ${tool.place} is held back: ${winner.place} has a tool of this name.`
      heldTools.push({ origin: tool.origin, place: tool.place, reason, name })
    } else first.set(name, tool)
  }
  return {
    tools: [...first.values()],
    unavailable: [...listings.flatMap(({ unavailable }) => unavailable), ...heldTools],
  }
}
