import type { ListPage, Tool, ToolSource, Unavailable } from '../../../contract/tool.ts'

export interface ToolPage {
  /** Tools, available or not: in the order of names or, found by a search, best first. */
  readonly entries: readonly (Tool | Unavailable)[]
  /** The number of tools on all pages. */
  readonly total: number
  /** The name after which the next page begins; absent on the last page and for a search. */
  readonly next?: string
}

/** Returns a page of a source's tools. A source that has many is asked for no more than the page. */
export async function toolPage(source: ToolSource, page: ListPage): Promise<ToolPage> {
  const { after, limit, origin } = page
  // One tool beyond the limit tells whether another page follows.
  const { tools, unavailable, total } = await source.list({ ...page, limit: limit + 1 })
  const all = [...tools, ...unavailable].filter((each) => each.origin === (origin ?? each.origin))
  const pairs = all.map((each) => ({ name: entryName(each), each }))
  const rest = pairs.filter(({ name }) => name > after).sort((a, b) => (a.name < b.name ? -1 : 1))
  const entries = rest.slice(0, limit)
  const last = rest.length > limit ? entries.at(-1) : undefined
  return { entries: entries.map(({ each }) => each), total: total ?? all.length, ...(last && { next: last.name }) }
}

/** Returns the name of a tool, or the place of a whole source that is not available. */
export function entryName(entry: Tool | Unavailable): string {
  if ('definition' in entry) return entry.definition.name
  const { place, name = place, pending } = entry
  return pending?.definition.name ?? name
}
