import type { StartRequest } from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import type { RunRequest } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { Tool } from '../contract/tool.ts'
import { memoryJournal } from '../loop/journal.ts'
import { recordOf } from '../loop/record.ts'
import { run } from '../loop/run.ts'
import { loopPorts } from '../loop/running.ts'
import { newState } from '../loop/state.ts'
import { countSpend } from './budget.ts'
import type { Asked } from './context.ts'
import { keeperOf } from './keeper.ts'
import { following, type Launched } from './launched.ts'
import { granted, Problem } from './problem.ts'

/** A request for a run, checked, and the edge's tools on offer in it. */
export interface Accepted {
  readonly run: RunRequest
  readonly tools: readonly Tool[]
}

/**
 * A run in this Worker, of which nothing is kept; it ends when its caller leaves. What it used is counted for the caller's
 * key however it ends.
 */
export function launchHere({ setup, request: asked, waitUntil }: Asked, { run: request, tools }: Accepted): Launched {
  const resolved = setup.models.resolve(request.model)
  if (!resolved.ok) throw new Problem({ status: 503, code: resolved.code, message: resolved.message })
  const { model } = resolved
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  const abort = new AbortController()
  const state = newState(request, new Map(tools.map(({ definition }) => [definition.name, definition])))
  const follow = (onEvent: (event: RunEvent) => void) => {
    const running = run(state, {
      model,
      tools: byName,
      find: (names) => setup.tools(request.caller).find(names),
      history: [],
      journal: memoryJournal(request.runId, onEvent),
      signal: AbortSignal.any([abort.signal, asked.signal]),
      now: () => Date.now(),
      ...loopPorts(setup, request.runId),
    })
    const { runId, caller, budget } = request
    const count = () => countSpend({ setup, caller }, runId, state.usage)
    if (budget) waitUntil(running.then(count, count))
    return running
  }
  return {
    runId: request.runId,
    follow: async (onEvent) => void (await follow(onEvent)),
    record: async (waitMs) => {
      // Nobody could ask for it later, so a run that nothing keeps ends with the wait.
      const timer = setTimeout(() => abort.abort(new Error('the wait is over')), waitMs)
      try {
        const record = recordOf(await follow(() => {}))
        if (record.status !== 'cancelled') return record
        const message = 'The wait was over before the run, which ended with it: nothing keeps it.'
        throw new Problem({ status: 504, code: 'wait_elapsed', message, extra: { runId: record.id, run: record } })
      } finally {
        clearTimeout(timer)
      }
    },
    leave: () => abort.abort(new Error('the caller left')),
  }
}

/** How long the journal of a run without a conversation is kept, where it is kept at all. */
const HIDDEN_MS = 24 * 60 * 60 * 1000

/** A run without a conversation that is kept for a day all the same. */
export function launchHidden(setup: Setup, { run, tools }: Accepted): Promise<Launched> {
  const kept = { run: { ...run, durable: true }, tools }
  return launchThere(setup, kept, { onBusy: 'queue', create: true, expires: Date.now() + HIDDEN_MS })
}

/** A run in its conversation, which goes on whoever follows. Without an `id` the caller does not know of it. */
export async function launchThere(
  setup: Setup,
  { run, tools }: Accepted,
  { id: conversation, ...start }: Omit<StartRequest, 'run' | 'tools'> & { readonly id?: string },
): Promise<Launched & { readonly created: boolean }> {
  const definitions = tools.map((tool) => tool.definition)
  const asking = { setup, caller: run.caller }
  const keeper = keeperOf(asking, { runId: run.runId, conversation })
  const reply = granted(await keeper.start({ run, tools: definitions, ...start }))
  const { runId, created, replayed, joinedAfter } = reply
  return {
    ...following(asking, { runId, conversation, after: joinedAfter ?? 0 }, keeper),
    created,
    replayed,
    joined: joinedAfter !== undefined,
  }
}
