import type { NewsFilter } from '../contract/conversation.ts'
import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'

/** Keeps work running after the response has been sent or the client has disconnected. */
export type WaitUntil = (work: Promise<unknown>) => void

/** The caller of a request, and the setup of this edge. */
export interface EdgeContext {
  readonly setup: Setup
  readonly caller: Caller
}

/** A request with its caller and this edge's setup. */
export interface RequestContext extends EdgeContext {
  readonly request: Request
  readonly waitUntil: WaitUntil
  /**
   * Set if the response is made of the events of the run that the request starts: which news it needs. The conversation
   * then sends them with its answer to the start. Default: they are requested once somebody follows the run.
   */
  readonly follow?: NewsFilter
  /**
   * Takes the names of the tools of the edge that are not offered, since the caller has tools of these names. Default: the
   * request is refused.
   */
  readonly replacements?: Set<string> | undefined
}
