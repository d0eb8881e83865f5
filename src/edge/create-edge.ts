import { conversation } from '../conversation/conversation.ts'
import { Directory } from '../conversation/directory.ts'
import type { MakeSetup } from '../contract/setup.ts'
import { edge, type EdgeWorker } from '../http/app/edge.ts'
import type { Surface } from '../http/surface.ts'
import type { Env } from './env.ts'
import type { SetupOptions } from './options.ts'
import { makeSetup } from './setup.ts'

/**
 * What an edge is made of: its surfaces and features, and the options of its setup. Parts that are not named are not
 * bundled.
 */
export interface EdgeOptions extends SetupOptions {
  /** APIs beside the native one, such as `chatCompletions`. Default: none. */
  readonly surfaces?: readonly Surface[]
}

/** An edge Worker: the default export of its module. `Conversation` and `Directory` must be exported too. */
export interface Edge extends EdgeWorker<Env> {
  /** The Durable Object class of the binding `CONVERSATIONS`. */
  readonly Conversation: ReturnType<typeof conversation<Env>>
  /** The Durable Object class of the binding `DIRECTORIES`. */
  readonly Directory: typeof Directory
  /** Puts the parts of this edge together, for a Worker of agents: `serveAgents(edge.setup, […])`. */
  readonly setup: MakeSetup<Env>
}

/**
 * Makes an edge Worker of the parts that it names. The bindings are read from wrangler.toml; an edge that lacks one
 * that it needs answers 503 and logs which.
 *
 * @example
 * import { chatCompletions, createEdge, openaiFromEnv } from 'edgecall'
 *
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, surfaces: [chatCompletions] })
 * export const { Conversation, Directory } = edge
 * export default edge
 */
export function createEdge(options: EdgeOptions): Edge {
  const setup: MakeSetup<Env> = (env) => makeSetup(env, options)
  return {
    ...edge(setup, surfacesOf(options)),
    Conversation: conversation(setup),
    Directory: options.metrics?.Directory ?? Directory,
    setup,
  }
}

/** Returns the surfaces that an edge names, and those of its features. */
export function surfacesOf({
  surfaces = [],
  stored,
  storedKeys,
  connections,
  outcomes,
  backups,
  metrics,
}: EdgeOptions): readonly Surface[] {
  return [
    ...surfaces,
    ...(stored ? [stored.surface] : []),
    ...(storedKeys ? [storedKeys.surface] : []),
    ...(connections?.surfaces ?? []),
    ...(outcomes?.surfaces ?? []),
    ...(backups ? [backups.surface] : []),
    ...(metrics ? [metrics.surface] : []),
  ]
}
