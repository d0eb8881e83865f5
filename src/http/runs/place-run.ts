import type { StartRequest } from '../../contract/conversation.ts'
import { ID } from '../../contract/id.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { Finish, RunError } from '../../contract/run.ts'
import type { Asked } from '../context.ts'
import { type Accepted, launchHere, launchHidden, launchThere } from './start-run.ts'
import type { Launched } from './run-handle.ts'
import { runHeaders } from './run-headers.ts'
import { failedProblem } from './failed-run.ts'
import { Problem } from '../problem.ts'

export interface Place {
  readonly id: string
  /** Whether the conversation is created if it does not exist. */
  readonly create: boolean
}

/** Returns the conversation that a request names: in a header, which also creates it, or in its body, at `param`. */
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
 * Starts a run in a conversation. A conversation that is created for it is listed. Default of `onBusy`: refused while
 * the run before waits for others, so that somebody who chats is told of that at once.
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
 * Starts a run without a conversation. Nothing is stored, unless the run may both run tools here and hand calls to its
 * caller: then it runs in a hidden conversation, which the ids of those calls find again, so that nothing runs twice. A
 * run with an Idempotency-Key does so too.
 */
export function startAlone(asked: Asked, accepted: Accepted): Launched | Promise<Launched> {
  const { run, tools } = accepted
  const handsOut = run.clientTools.length > 0 && tools.length > 0 && run.execution === 'edge'
  return handsOut || run.fingerprint !== undefined ? launchHidden(asked.setup, accepted) : launchHere(asked, accepted)
}

/** Collects a run's events into a response that is not streamed. */
export interface Collector {
  readonly event: (event: RunEvent) => void
  /** Returns the body, or the error that takes its place. Called after the last event. */
  readonly result: () => { readonly ok: true; readonly body: object } | { readonly ok: false; readonly error: RunError }
}

/** Answers with a run in a response that is not streamed. Throws the Problem of a run that failed. */
export async function collectRun(launched: Launched, collector: Collector): Promise<Response> {
  let started = false
  let finish: Finish = 'error'
  const onEvent = (event: RunEvent) => {
    // A run that was resumed has taken its answers, which cannot be sent again.
    started ||= event.type === 'call.started' || event.type === 'run.resumed'
    if (event.type === 'run.finished') finish = event.finish
    collector.event(event)
  }
  await launched.follow(onEvent).catch((error: unknown) => {
    // Otherwise the events broke off, and the collector has an error for that.
    if (!started) throw error
  })
  const result = collector.result()
  if (result.ok) return Response.json(result.body, { headers: runHeaders(launched) })
  throw failedProblem({ finish, error: result.error }, { place: launched, started })
}
