import { exports } from 'cloudflare:workers'
import type { Vars } from '../contract/vars.ts'

/** Returns the entrypoints that the module of this Worker exports, as stubs. Call it while a request is handled. */
export function ownEntrypoints(): Vars {
  return { ...exports }
}
