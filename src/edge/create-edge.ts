import { conversation } from '../conversation/conversation.ts'
import { Directory } from '../directory/directory.ts'
import type { MakeSetup } from '../contract/setup.ts'
import { edge, type EdgeWorker } from '../http/app/edge.ts'
import type { Surface } from '../http/surface.ts'
import type { TriggerHandlers } from '../triggers/triggers.ts'
import type { Env } from './env.ts'
import type { Part, SchedulesClass } from './part.ts'
import { type EdgeOptions, partsIn } from './options.ts'
import { makeSetup } from './setup.ts'

/** An edge Worker: the default export of its module. `Conversation` and `Directory` must be exported too. */
export interface Edge extends EdgeWorker<Env>, Partial<TriggerHandlers<Env>> {
  /** The Durable Object class of the binding `CONVERSATIONS`. */
  readonly Conversation: ReturnType<typeof conversation<Env>>
  /** The Durable Object class of the binding `DIRECTORIES`. */
  readonly Directory: typeof Directory
  /** The Durable Object class of the binding `SCHEDULES`, if the edge has the part `schedules`. */
  readonly Schedules: SchedulesClass | undefined
  /** Puts the services of this edge together, for a Worker of agents: `serveAgents(edge.setup, […])`. */
  readonly setup: MakeSetup<Env>
}

/**
 * Makes an edge Worker of the parts that it names. The bindings are read from wrangler.toml; an edge that lacks one
 * that it needs answers 503 and logs which.
 *
 * @example
 * import { chatCompletions, createEdge, openaiFromEnv, toolSearch } from 'edgecall'
 *
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [chatCompletions, toolSearch()] })
 * export const { Conversation, Directory } = edge
 * export default edge
 */
export function createEdge(options: EdgeOptions): Edge {
  const parts = partsIn(options)
  const setup: MakeSetup<Env> = (env) => makeSetup(env, options)
  return {
    ...edge(setup, surfacesOf(parts)),
    ...parts.findLast(({ handlers }) => handlers)?.handlers?.(setup),
    Conversation: conversation(setup),
    Directory: parts.findLast(({ objects }) => objects?.Directory)?.objects?.Directory ?? Directory,
    Schedules: parts.findLast(({ objects }) => objects?.Schedules)?.objects?.Schedules?.(setup),
    setup,
  }
}

/** Returns the surfaces of these parts. */
export function surfacesOf(parts: readonly Pick<Part, 'surfaces'>[]): readonly Surface[] {
  return parts.flatMap(({ surfaces = [] }) => surfaces)
}
