import { presentCaller } from '../conversation/run/present-caller.ts'
import type { AnswerTarget } from '../contract/answer-target.ts'
import type { Scope } from '../contract/api-key.ts'
import { termsOfCaller } from '../contract/caller-terms.ts'
import { deriveRunId, ID } from '../contract/id.ts'
import type { JsonObject } from '../contract/json.ts'
import { type DataMark, withMarks } from '../contract/message.ts'
import { idIn } from '../contract/placement.ts'
import { isTerminal } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import { isOutage, textOfThrown } from '../contract/thrown.ts'
import { OutOfTime, withDeadline } from '../contract/time-limit.ts'
import type { Caller } from '../contract/tool.ts'
import { requireScope } from '../http/middleware/auth.ts'
import { countRequest } from '../http/middleware/rate.ts'
import { Problem } from '../http/problem.ts'
import type { WaitUntil } from '../http/request-context.ts'
import { cacheSettings } from '../http/runs/place-run.ts'
import { conversationStubOfRun } from '../http/runs/conversation-stub.ts'
import { prepareRun } from '../http/runs/prepare-run.ts'
import { startInConversation } from '../http/runs/start-run.ts'
import { countCreated, requireBytes, requireRoom } from '../http/runs/storage-quota.ts'
import { invalidRequest } from '../http/surfaces/runs.ts'
import { decodeRunBody } from '../wire/client/request.ts'

/** How long the start of one run may take, in milliseconds. It is tried again with the same key. */
const START_MS = 30_000
const DAY_MS = 24 * 60 * 60 * 1000
/** How many days the conversation of a run is kept, if it has one of its own. */
export const KEEP_DAYS = 30

/** A run that no request starts. */
export interface TriggeredRun {
  /** What starts it, such as `schedules/report`. */
  readonly source: string
  /** Stands for one run of the source, however often it is started: printable ASCII. */
  readonly key: string
  /** The caller that the run is started as, as it was when the source was stored. */
  readonly caller: Caller
  /** The scopes that the run has, of those that the caller has now. Default: all of these. */
  readonly scopes?: readonly string[] | undefined
  /** The body of `POST /runs`. */
  readonly body: JsonObject
  /** The marks of what the body says. */
  readonly marks: readonly DataMark[]
  /** Default: one of its own, which is kept for `keepDays`. */
  readonly conversation?: string | undefined
  readonly keepDays?: number | undefined
  /** Whether the named conversation is made if it does not exist. Default: the run is not started then. */
  readonly create?: boolean | undefined
  /** The run that must have ended before this one is started. Default: none. */
  readonly after?: RunPlace | undefined
  /** Where the answer goes once the run has ended. Default: it is stored with the run alone. */
  readonly answerTo?: AnswerTarget | undefined
}

/** A run, and the conversation that stores it. */
interface RunPlace {
  readonly run: string
  readonly conversation: string
}

export type StartOutcome = ({ readonly ok: true } & RunPlace) | StartFault

/**
 * Why a run was not started. `forbidden`: its caller may start none. `busy`: the run that must have ended first has not.
 * `later`: starting it may succeed later.
 */
export interface StartFault {
  readonly ok: false
  readonly because: 'forbidden' | 'busy' | 'failed' | 'later'
  readonly code: string
  readonly message: string
  /** The HTTP status that a request would have. */
  readonly status: number
  readonly retryAfterMs?: number | undefined
}

/**
 * Starts a run as `POST /conversations/{id}/runs` does, for a caller who is not there: asks what its key may do now, counts
 * the run against its rate limit, budget and quotas, and stores the run under a key that starts it once. Never rejects.
 */
export async function startTriggeredRun(
  setup: Setup,
  run: TriggeredRun,
  ports: { readonly waitUntil: WaitUntil },
): Promise<StartOutcome> {
  try {
    return await withDeadline(START_MS, start(setup, run, ports))
  } catch (error) {
    return faultOf(setup, run, error)
  }
}

async function start(
  setup: Setup,
  {
    source,
    key,
    caller: storedCaller,
    scopes,
    body,
    marks,
    conversation,
    keepDays = KEEP_DAYS,
    create = false,
    after,
    answerTo,
  }: TriggeredRun,
  { waitUntil }: { readonly waitUntil: WaitUntil },
): Promise<StartOutcome> {
  const now = Date.now()
  const present = await presentCaller(setup, storedCaller, now)
  if (present === 'unknown') throw unknownCaller()
  if (!present.ok) return { ok: false, because: 'forbidden', status: 403, ...present.error }
  const { caller: current } = present
  const caller = scopes ? { ...current, scopes: current.scopes.filter((scope) => scopes.includes(scope)) } : current
  requireScope(caller, CHAT)
  if (after && (await isUnderWay(setup, caller, after))) {
    const message = `The run ${after.run}, which was started before, has not ended.`
    return { ok: false, because: 'busy', code: 'overlap', message, status: 409 }
  }
  await countRequest(setup, caller)
  if (conversation !== undefined && !ID.test(conversation)) {
    const message = `A conversation's id must match ${ID.source}.`
    throw new Problem({ status: 400, code: 'invalid_conversation_id', message })
  }
  if (answerTo && 'webhook' in answerTo) requireWebhook(setup, answerTo.webhook)
  const decoded = decodeRunBody(body)
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const request = new Request(`https://triggers.invalid/${source}`, { headers: { 'idempotency-key': key } })
  const context = { setup, caller, request, waitUntil }
  const id = conversation ?? (await ownConversation(setup, caller, source, key))
  if (conversation === undefined) {
    requireBytes(context)
    // It does not exist yet, and nobody else creates it.
    cacheSettings(context, id, {})
  }
  const prepared = await prepareRun(context, decoded.request, { conversation: id })
  const { isFromUser: _, ...triggered } = prepared.run
  const run = { ...triggered, input: withMarks(triggered.input, marks), ...(answerTo && { answerTo }) }
  if (conversation !== undefined && create) await requireRoom(context, id)
  const place = {
    id,
    onBusy: 'queue' as const,
    create: conversation === undefined || create,
    // Its id can be told in advance, so somebody may have made it, with messages that the run would read.
    ...(conversation === undefined && { expires: now + keepDays * DAY_MS, begins: true }),
  }
  const { runId, created } = await startInConversation(context, { ...prepared, run }, place)
  if (created && conversation !== undefined) {
    cacheSettings(context, id, {})
    countCreated(context)
  }
  return { ok: true, run: runId, conversation: id }
}

const CHAT: Scope = 'chat'

function requireWebhook({ webhooks }: Setup, url: string): void {
  const message = webhooks ? webhooks.refusal(url) : 'This edge sends no webhooks.'
  if (message !== undefined) throw new Problem({ status: 400, code: 'invalid_request', message, param: 'webhook' })
}

/** Returns the id of a run's own conversation. It is not listed, and can be read by its id. */
async function ownConversation(setup: Setup, caller: Caller, source: string, key: string): Promise<string> {
  const name = (await deriveRunId(caller.tenant, source, key)).replace('run', 'conv')
  return idIn(termsOfCaller(setup, caller)?.jurisdiction, name)
}

function unknownCaller(): Problem {
  const message = 'Whether the key may still start runs cannot be checked now.'
  return new Problem({ status: 503, code: 'keys_unavailable', message })
}

/** The codes of starts that may have taken effect, although they seem to have failed. */
export const LOST = 'connection_lost'
export const FAILED = 'internal_error'

function faultOf(setup: Setup, { source }: TriggeredRun, error: unknown): StartFault {
  if (error instanceof Problem) {
    const { status, code, message, retryAfterMs } = error.details
    const because = status === 403 ? 'forbidden' : status === 429 || status >= 500 ? 'later' : 'failed'
    return { ok: false, because, code, message, status, retryAfterMs }
  }
  const isTransient = error instanceof OutOfTime || isOutage(error)
  if (!isTransient) setup.report({ event: 'trigger.failed', source, detail: textOfThrown(error) })
  const code = isTransient ? LOST : FAILED
  const message = isTransient ? 'The run could not be started in time.' : 'The edge failed.'
  return { ok: false, because: 'later', code, message, status: isTransient ? 503 : 500 }
}

/** Whether a run has not ended. One that is not there any more has. */
async function isUnderWay(setup: Setup, caller: Caller, { run: runId, conversation }: RunPlace): Promise<boolean> {
  const reply = await conversationStubOfRun({ setup, caller }, { runId, conversation }).record(runId, 0)
  return reply.ok && !isTerminal(reply.record.status)
}
