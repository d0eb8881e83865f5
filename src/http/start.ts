import type { StartRequest } from '../contract/conversation.ts'
import { ID } from '../contract/id.ts'
import type { RunEvent } from '../contract/event.ts'
import type { Finish, RunError } from '../contract/run.ts'
import type { Asked } from './context.ts'
import { type Accepted, launchHere, launchHidden, launchThere } from './launch.ts'
import type { Launched } from './launched.ts'
import { runHeaders } from './run-headers.ts'
import { failedProblem } from './outcome.ts'
import { Problem } from './problem.ts'

export interface Place {
  readonly id: string
  /** Whether one that is not there is made. */
  readonly create: boolean
}

/** The conversation that a request names: in its header, which makes one, or in its body, at `param`. */
export function placeOf({ headers }: Request, inBody: string | undefined, param: string): Place | undefined {
  const header = headers.get('x-conversation-id') ?? undefined
  const id = header ?? inBody
  if (id === undefined) return undefined
  if (ID.test(id)) return { id, create: header !== undefined }
  const message = `A conversation's id matches ${ID.source}.`
  throw new Problem({ status: 400, code: 'invalid_conversation_id', message, param })
}

type Begun = Pick<StartRequest, 'replaces' | 'onward' | 'after'> & {
  readonly onBusy?: StartRequest['onBusy'] | undefined
}

/**
 * Begins a run in a conversation. One that is made for it is listed. Default of `onBusy`: whoever chats is told at once
 * that the run before it waits for them.
 */
export async function startThere(
  { setup, caller }: Asked,
  accepted: Accepted,
  { onBusy = 'queue-unless-waiting', ...start }: Place & Begun,
): Promise<Launched> {
  const { id } = start
  const launched = await launchThere(setup, accepted, { ...start, onBusy })
  if (launched.created) await setup.directories.getByName(caller.tenant).add(id)
  return launched
}

/**
 * Begins a run without a conversation. Nothing is kept, unless the run may both run tools here and hand calls to its
 * caller: then its journal goes to a hidden conversation, which the ids of those calls find again, so that nothing runs
 * twice. So does that of a run with an Idempotency-Key.
 */
export function startAlone(asked: Asked, accepted: Accepted): Launched | Promise<Launched> {
  const { run, tools } = accepted
  const handsOut = run.clientTools.length > 0 && tools.length > 0 && run.execution === 'edge'
  return handsOut || run.fingerprint !== undefined ? launchHidden(asked.setup, accepted) : launchHere(asked, accepted)
}

/** Gathers a run's events into an answer that is sent whole. */
export interface Collector {
  readonly event: (event: RunEvent) => void
  /** The answer, or why there is none; to be asked after the last event. */
  readonly result: () => { readonly ok: true; readonly body: object } | { readonly ok: false; readonly error: RunError }
}

/** The answer to a run that is sent whole; throws the Problem of one that failed. */
export async function collectRun(launched: Launched, collector: Collector): Promise<Response> {
  let started = false
  let finish: Finish = 'error'
  const onEvent = (event: RunEvent) => {
    // A run that goes on has taken its answers, which nobody can send again.
    started ||= event.type === 'call.started' || event.type === 'run.resumed'
    if (event.type === 'run.finished') finish = event.finish
    collector.event(event)
  }
  await launched.follow(onEvent).catch((error: unknown) => {
    // Else the events broke off, as the collector says.
    if (!started) throw error
  })
  const result = collector.result()
  if (result.ok) return Response.json(result.body, { headers: runHeaders(launched) })
  throw failedProblem({ finish, error: result.error }, { place: launched, started })
}
