import { signal } from '@preact/signals'

/** What the address shows. Every page of the studio has an address, after the `#`. */
export type StudioRoute =
  | { readonly page: 'chat'; readonly conversation?: string; readonly run?: string; readonly item?: string }
  /** `filter`: a query of `GET /runs`. */
  | { readonly page: 'conversations'; readonly filter?: string }
  | { readonly page: 'approvals' }
  | { readonly page: 'tools'; readonly tool?: string }
  | { readonly page: 'define'; readonly tool?: string }
  | { readonly page: 'compare'; readonly first: RunAddress; readonly second: RunAddress }

export interface RunAddress {
  readonly conversation: string
  readonly run: string
}

/** Reads an address; what is not one is a new chat. */
export function parseRoute(hash: string): StudioRoute {
  const [page, ...rest] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded)
  const [first, second, third, fourth] = rest
  if (page === 'c' && first) {
    return { page: 'chat', conversation: first, ...(second && { run: second }), ...(third && { item: third }) }
  }
  if (page === 'conversations') return { page, ...(first && { filter: first }) }
  if (page === 'approvals') return { page }
  if (page === 'tools' || page === 'define') return { page, ...(first && { tool: first }) }
  if (page === 'compare' && first && second && third && fourth) {
    return { page, first: { conversation: first, run: second }, second: { conversation: third, run: fourth } }
  }
  return { page: 'chat' }
}

/** Makes the address of a page. */
export function hrefOf(route: StudioRoute): string {
  return `#/${partsOf(route).map(encodeURIComponent).join('/')}`
}

function partsOf(route: StudioRoute): string[] {
  if (route.page === 'compare') {
    const { first, second } = route
    return ['compare', first.conversation, first.run, second.conversation, second.run]
  }
  if (route.page === 'chat') {
    const { conversation, run, item } = route
    return conversation ? ['c', conversation, ...(run ? [run, ...(item ? [item] : [])] : [])] : ['']
  }
  if (route.page === 'conversations') return [route.page, ...(route.filter ? [route.filter] : [])]
  return [route.page, ...('tool' in route && route.tool ? [route.tool] : [])]
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The page that is shown. */
export const route = signal<StudioRoute>({ page: 'chat' })

/** Shows a page; `replace` makes no entry in the history of the tab. */
export function go(to: StudioRoute, replace = false): void {
  if (replace) history.replaceState(null, '', hrefOf(to))
  else history.pushState(null, '', hrefOf(to))
  route.value = to
}

/** Follows the address bar. */
export function followAddress(): void {
  const read = () => (route.value = parseRoute(location.hash))
  addEventListener('hashchange', read)
  addEventListener('popstate', read)
  read()
}
