import { wholeNumber } from '../../src/tool.ts'

export interface WebEnv {
  readonly SEARCH_URL?: string
  readonly SEARCH_TOKEN?: string
  readonly WEB_TIMEOUT_MS?: string
}

const TIMEOUT_MS = 10_000

/** How long a service or a page may take, in milliseconds. Throws where that cannot be read. */
export function timeoutOf(env: WebEnv): number {
  return wholeNumber({ ...env }, 'WEB_TIMEOUT_MS', TIMEOUT_MS)
}
