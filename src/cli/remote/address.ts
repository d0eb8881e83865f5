import { shellCommand } from '../command/shell.ts'
import { findRunning, STATE_DIR } from '../dev/state.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'

export interface AddressOptions {
  readonly root: string
  /** Provides EDGECALL_URL, EDGECALL_KEY and STATE_DIR. */
  readonly env: NodeJS.ProcessEnv
  readonly url?: string | undefined
}

/**
 * Returns the edge to speak to: `url`, else EDGECALL_URL, with EDGECALL_KEY; else the edge that `edgecall dev` runs in
 * this folder, with its key. Throws a Failure if there is none.
 */
export function addressOf(options: AddressOptions): EdgeAddress {
  const edge = findAddress(options)
  if (edge) return edge
  throw new Failure(
    'Say where the edge is: --url https://…, or EDGECALL_URL.',
    `Or run one on this machine, in this folder: ${shellCommand('dev')}`,
  )
}

/** Returns the edge to speak to, as `addressOf` does; undefined if there is none. */
export function findAddress({ root, env, url = env['EDGECALL_URL'] }: AddressOptions): EdgeAddress | undefined {
  if (url !== undefined && url !== '') {
    if (!URL.canParse(url)) throw new Failure(`"${url}" is not the URL of an edge.`, 'Such as https://edge.example.com')
    return { url: url.replace(/\/+$/, ''), key: env['EDGECALL_KEY'] }
  }
  const running = findRunning(root, env['STATE_DIR'] ?? STATE_DIR)
  return running && { url: running.url, key: env['EDGECALL_KEY'] ?? running.key }
}
