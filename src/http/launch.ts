import {
  type ConversationService,
  type Jurisdiction,
  JURISDICTIONS,
  type Location,
  type StartRequest,
} from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import { pause } from '../contract/pause.ts'
import type { RunRecord, RunRequest } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { Tool } from '../contract/tool.ts'
import { memoryJournal } from '../loop/journal.ts'
import { recordOf } from '../loop/record.ts'
import { run } from '../loop/run.ts'
import { loopPorts } from '../loop/running.ts'
import { newState } from '../loop/state.ts'
import { decodeEvents } from '../wire/events.ts'
import { countSpend } from './budget.ts'
import type { Asked, Asking } from './context.ts'
import { granted, Problem } from './problem.ts'

/** A request for a run, checked, and the edge's tools on offer in it. */
export interface Accepted {
  readonly run: RunRequest
  readonly tools: readonly Tool[]
}

/** A run that was accepted, and whose events can be followed once. */
export interface Launched {
  readonly runId: string
  readonly conversation?: string | undefined
  /** The run was there before: its Idempotency-Key came again. */
  readonly replayed?: boolean
  /** The input joined this run, which was under way. */
  readonly joined?: boolean
  /**
   * Hands over each event as it comes. Resolves when the run has ended or waits for others. A run that is kept waits with
   * the next one for what `onEvent` returns.
   */
  follow(onEvent: (event: RunEvent) => void | Promise<void>): Promise<void>
  /** The record once the run has ended or waits, or as it stands after `waitMs`. Not after `follow`. */
  record(waitMs: number): Promise<RunRecord>
  /** The caller has gone: ends a run that nobody else can follow, and the following of one that is kept. */
  leave(): void
}

/**
 * The object of a conversation; tenants never meet. Its id says where it must live, so that whoever has the id finds it;
 * `location` is where a new one had best be.
 */
export function conversationOf(
  setup: Setup,
  tenant: string,
  conversation: string,
  location?: Location,
): ConversationService {
  const objects = objectsIn(setup, jurisdictionOf(conversation))
  const name = `v1/${tenant}/${conversation}`
  return location === undefined ? objects.getByName(name) : objects.getByName(name, { locationHint: location })
}

/** The jurisdiction in which a conversation of this id lives: `eu__…`. */
export function jurisdictionOf(conversation: string): Jurisdiction | undefined {
  return JURISDICTIONS.find((jurisdiction) => conversation.startsWith(`${jurisdiction}__`))
}

function objectsIn({ conversations }: Setup, jurisdiction?: Jurisdiction): Setup['conversations'] {
  if (jurisdiction === undefined) return conversations
  try {
    const there = conversations.jurisdiction?.(jurisdiction)
    if (there) return there
  } catch {
    // The platform knows none, as on a developer's machine.
  }
  const message = `The jurisdiction "${jurisdiction}" is not to be had here.`
  throw new Problem({ status: 501, code: 'no_such_jurisdiction', message })
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

/** Where a run is kept. Without a `conversation` its caller does not know of any. */
export interface Kept {
  readonly runId: string
  readonly conversation?: string | undefined
}

/** The object that keeps a run: its conversation, or one that nobody asked for, where it must be found again. */
export function keeperOf({ setup, caller }: Asking, { runId, conversation }: Kept): ConversationService {
  // No caller can name it: the tilde is in no id.
  return conversationOf(setup, caller.tenant, conversation ?? `~${runId}`)
}

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
    ...following(asking, { runId, conversation, after: joinedAfter ?? 0 }),
    created,
    replayed,
    joined: joinedAfter !== undefined,
  }
}

/** Follows a run that is kept after an event, also where its object is lost meanwhile and goes on in another life. */
export function following(asking: Asking, { after, ...kept }: Kept & { readonly after: number }): Launched {
  const { runId } = kept
  let left = false
  return {
    ...kept,
    follow: (onEvent) =>
      throughLosses(async () => {
        if (left) return
        const { stream } = granted(await keeperOf(asking, kept).events(runId, after))
        for await (const event of decodeEvents(stream)) {
          const wait = onEvent(event)
          after = event.seq
          if (wait) await wait
          if (left) return
        }
      }),
    record: (waitMs) => {
      const until = Date.now() + waitMs
      return throughLosses(async () => granted(await keeperOf(asking, kept).record(runId, until - Date.now())).record)
    },
    leave: () => {
      left = true
    },
  }
}

/** How often an object may be lost while it is asked. */
const MOST_LOSSES = 5
const AFTER_LOSS_MS = 200

/** Asks once more where an object was lost: deployed anew, evicted. `ask` takes a stub of its own, as a broken one stays so. */
async function throughLosses<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let losses = 1; ; losses++) {
    try {
      return await ask()
    } catch (error) {
      // What is refused stays so, and one that is asked too much had better not be asked again.
      if (error instanceof Problem || Object(error).overloaded || losses > MOST_LOSSES) throw error
      await pause(AFTER_LOSS_MS)
    }
  }
}
