import type { ListPage, Tool, ToolSource, Unavailable } from '../contract/tool.ts'

export interface ToolPage {
  /** In the order of names, what is not available too. */
  readonly listed: readonly (Tool | Unavailable)[]
  /** How many there are in all. */
  readonly total: number
  /** The name after which the next page begins; absent for the last. */
  readonly next?: string
}

/** A page of a source's tools, where it has many asked for no more than the page. */
export async function toolPage(source: ToolSource, page: ListPage): Promise<ToolPage> {
  const { after, limit, origin } = page
  // One more tells whether there are more.
  const { tools, unavailable, total } = await source.list({ ...page, limit: limit + 1 })
  const all = [...tools, ...unavailable].filter((each) => each.origin === (origin ?? each.origin))
  const named = all.map((each) => ({ name: nameOf(each), each }))
  const rest = named.filter(({ name }) => name > after).sort((a, b) => (a.name < b.name ? -1 : 1))
  const listed = rest.slice(0, limit)
  const last = rest.length > limit ? listed.at(-1) : undefined
  return { listed: listed.map(({ each }) => each), total: total ?? all.length, ...(last && { next: last.name }) }
}

/** The name of a tool, or the place of many that are not available. */
export function nameOf(listed: Tool | Unavailable): string {
  if ('definition' in listed) return listed.definition.name
  const { place, name = place, held } = listed
  return held?.definition.name ?? name
}
