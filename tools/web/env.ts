import { wholeNumber } from 'edgecall/tool'

export interface WebEnv {
  readonly SEARCH_URL?: string
  readonly SEARCH_TOKEN?: string
  readonly WEB_TIMEOUT_MS?: string
}

const TIMEOUT_MS = 10_000

/** Returns the time limit of a search or a page, in milliseconds. Throws if WEB_TIMEOUT_MS is not a whole number. */
export function timeoutOf(env: WebEnv): number {
  return wholeNumber({ ...env }, 'WEB_TIMEOUT_MS', TIMEOUT_MS)
}
