import { signal } from '@preact/signals'

/** What the address shows. Every view of the studio has an address, after the `#`. */
export type StudioRoute =
  /** `item`: the row of the run whose details are shown, a call's id or `step-N`. */
  | { readonly page: 'chat'; readonly conversation?: string; readonly run?: string; readonly item?: string }
  /** `filter`: a query of `GET /runs`; `since` in it is a number of hours. */
  | { readonly page: 'runs'; readonly filter?: string }
  | { readonly page: 'run'; readonly conversation: string; readonly run: string; readonly item?: string }
  /** `call`: the run and the id of the call that is shown. */
  | { readonly page: 'approvals'; readonly filter?: string; readonly call?: string }
  | { readonly page: 'tools'; readonly tool?: string }
  | { readonly page: 'define'; readonly tool?: string }
  | { readonly page: 'compare'; readonly first: RunAddress; readonly second: RunAddress }
  /** `range`: of days, such as `7` for the last seven. */
  | { readonly page: 'usage'; readonly range?: string }
  /** `name`: the schedule that is shown. */
  | { readonly page: 'schedules'; readonly name?: string }
  | { readonly page: 'connect'; readonly application?: string }
  | { readonly page: 'key' }
  | { readonly page: 'more' }

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
  if (page === 'run' && first && second) {
    return { page, conversation: first, run: second, ...(third && { item: third }) }
  }
  // `conversations`: what the list was called before.
  if (page === 'runs' || page === 'conversations') return { page: 'runs', ...(first && { filter: first }) }
  if (page === 'approvals') return { page, ...(first && { filter: first }), ...(second && { call: second }) }
  if (page === 'tools' || page === 'define') return { page, ...(first && { tool: first }) }
  if (page === 'usage') return { page, ...(first && { range: first }) }
  if (page === 'schedules') return { page, ...(first && { name: first }) }
  if (page === 'connect') return { page, ...(first && { application: first }) }
  if (page === 'key' || page === 'more') return { page }
  if (page === 'compare' && first && second && third && fourth) {
    return { page, first: { conversation: first, run: second }, second: { conversation: third, run: fourth } }
  }
  return { page: 'chat' }
}

/** Makes the address of a view. */
export function hrefOf(route: StudioRoute): string {
  return `#/${partsOf(route).map(encodeURIComponent).join('/')}`
}

function partsOf(route: StudioRoute): string[] {
  switch (route.page) {
    case 'compare': {
      const { first, second } = route
      return ['compare', first.conversation, first.run, second.conversation, second.run]
    }
    case 'chat':
      return route.conversation ? ['c', route.conversation, ...optional(route.run, route.item)] : ['']
    case 'run':
      return ['run', route.conversation, route.run, ...optional(route.item)]
    case 'runs':
      return ['runs', ...optional(route.filter)]
    case 'approvals':
      return ['approvals', ...(route.call ? [route.filter ?? '', route.call] : optional(route.filter))]
    case 'usage':
      return ['usage', ...optional(route.range)]
    case 'schedules':
      return ['schedules', ...optional(route.name)]
    case 'connect':
      return ['connect', ...optional(route.application)]
    case 'tools':
    case 'define':
      return [route.page, ...optional(route.tool)]
    case 'key':
    case 'more':
      return [route.page]
  }
}

/** The parts up to the first that is missing. */
function optional(...parts: readonly (string | undefined)[]): string[] {
  const end = parts.findIndex((part) => !part)
  return parts.slice(0, end < 0 ? parts.length : end).filter((part) => part !== undefined)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The view that is shown. */
export const route = signal<StudioRoute>({ page: 'chat' })

/** Shows a view; `replace` makes no entry in the history of the tab. */
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
