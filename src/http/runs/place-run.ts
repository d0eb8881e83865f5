import type { ConversationSettings, StartRequest } from '../../contract/conversation.ts'
import { ID } from '../../contract/id.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { Finish, RunError } from '../../contract/run.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import {
  failedProblem,
  type PreparedRun,
  runHeaders,
  runInWorker,
  startEphemeral,
  startInConversation,
} from './start-run.ts'
import type { RunHandle } from './run-handle.ts'
import { countCreated } from './storage-quota.ts'
import { Problem } from '../problem.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import { conversationStub } from './conversation-stub.ts'

export interface ConversationTarget {
  readonly id: string
  /** Whether the conversation is created if it does not exist. */
  readonly create: boolean
}

/** Returns the conversation that a request names: in a header, which also creates it, or in its body, at `param`. */
export function conversationTarget(
  { headers }: Request,
  inBody: string | undefined,
  param: string,
): ConversationTarget | undefined {
  const header = headers.get('x-conversation-id') ?? undefined
  const id = header ?? inBody
  if (id === undefined) return undefined
  if (ID.test(id)) return { id, create: header !== undefined }
  const message = `A conversation's id must match ${ID.source}.`
  throw new Problem({ status: 400, code: 'invalid_conversation_id', message, param })
}

type StartOptions = Pick<StartRequest, 'replaces' | 'onward' | 'after'>

/**
 * Starts a run in a conversation, which is created and listed if need be. By default it interrupts the current
 * run, as a person in a chat expects of a new message. But if that run waits for an approval or for its caller, the
 * request is refused, so that the person learns of that at once.
 */
export async function startInListedConversation(
  context: RequestContext,
  preparedRun: PreparedRun,
  start: ConversationTarget & StartOptions,
): Promise<RunHandle> {
  const { id } = start
  const handle = await startInConversation(context, preparedRun, { ...start, onBusy: 'interrupt-unless-waiting' })
  if (!handle.created) return handle
  cacheSettings(context, id, {})
  countCreated(context)
  return handle
}

/**
 * Starts a run without a conversation. It is stored, in a hidden conversation, only if it may both run tools here and
 * hand calls to its caller, or if it has an Idempotency-Key. The ids of the calls lead back to that conversation, so
 * that nothing runs twice.
 */
export function startStateless(context: RequestContext, preparedRun: PreparedRun): RunHandle | Promise<RunHandle> {
  const { run, tools } = preparedRun
  const handsOutCalls = run.clientTools.length > 0 && tools.length > 0 && run.execution === 'edge'
  if (run.fingerprint !== undefined) return startEphemeral(context, preparedRun)
  // If the client disconnects before it has the calls, nobody could find the run: it is cancelled, like a run that is
  // not stored.
  if (handsOutCalls) return startEphemeral(context, { run: { ...run, cancelOnDisconnect: true }, tools })
  return runInWorker(context, preparedRun)
}

/** Collects a run's events into a response that is not streamed. */
export interface Collector {
  readonly event: (event: RunEvent) => void
  /** Returns the body, or the error that takes its place. Called after the last event. */
  readonly result: () => { readonly ok: true; readonly body: object } | { readonly ok: false; readonly error: RunError }
}

/** Answers with a run in a response that is not streamed. Throws the Problem of a run that failed. */
export async function collectRun(handle: RunHandle, collector: Collector): Promise<Response> {
  let hasStarted = false
  let finish: Finish = 'error'
  const onEvent = (event: RunEvent) => {
    // A run that was resumed has taken its answers, which cannot be sent again.
    hasStarted ||= event.type === 'call.started' || event.type === 'run.resumed'
    if (event.type === 'run.finished') finish = event.finish
    collector.event(event)
  }
  // The answer of a step has all that its deltas have.
  await handle.follow(onEvent, 'end').catch((error: unknown) => {
    // Otherwise the events broke off, and the collector has an error for that. What a stored run has done by then is not
    // known, and it continues by itself.
    hasStarted ||= handle.conversation !== undefined && !(error instanceof Problem)
    if (!hasStarted) throw error
  })
  const result = collector.result()
  if (result.ok) return Response.json(result.body, { headers: runHeaders(handle) })
  throw failedProblem({ finish, error: result.error }, { run: handle, hasStarted })
}

/**
 * How long an isolate caches settings, in milliseconds. They never change, but a conversation that expired may be
 * created again with other ones.
 */
const MOST_AGE_MS = 60_000
const MOST_ENTRIES = 1000

/** Caches the settings of a conversation, so that its next runs in this isolate need not ask for them. */
export function cacheSettings(
  { setup, caller }: EdgeContext,
  conversation: string,
  settings: ConversationSettings,
): void {
  const entries = (setup.isolate.settings ??= new RecentMap({ most: MOST_ENTRIES, maxAgeMs: MOST_AGE_MS }))
  entries.set(`${caller.tenant}/${conversation}`, settings)
}

/** Returns the settings of a conversation; empty if it does not exist, which its reply to the next request reports. */
export async function settingsOf(context: EdgeContext, conversation: string): Promise<ConversationSettings> {
  const cached = context.setup.isolate.settings?.get(`${context.caller.tenant}/${conversation}`)
  if (cached) return cached
  const reply = await conversationStub(context, conversation).settings()
  if (!reply.ok) return {}
  cacheSettings(context, conversation, reply.settings)
  return reply.settings
}

/** Completes a request with the defaults of its conversation. Values in the request take precedence. */
export function withDefaults<
  Body extends { readonly context?: object | undefined; readonly limits?: object | undefined },
>({ window: _window, ttlSeconds: _ttl, webhook: _webhook, ...defaults }: ConversationSettings, body: Body): Body {
  const missing = Object.entries(defaults).filter(([name]) => Reflect.get(body, name) === undefined)
  return {
    ...body,
    ...Object.fromEntries(missing),
    ...((defaults.context ?? body.context) && { context: { ...defaults.context, ...body.context } }),
    ...((defaults.limits ?? body.limits) && { limits: { ...defaults.limits, ...body.limits } }),
  }
}
