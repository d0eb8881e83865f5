import type { Refusal } from '../contract/conversation.ts'
import { openAiErrorObject } from '../wire/client/openai-chat/answer.ts'
import { quotaMessage, QUOTAS, type ReachedQuota } from '../contract/quotas.ts'
import type { OpenAiFault } from '../wire/client/openai-chat/request.ts'

export interface ProblemDetails {
  readonly status: number
  /** Stable: programs may rely on it. */
  readonly code: string
  /** For people. */
  readonly message: string
  /** The part of the request that is at fault, such as `tools[0].function.name`. */
  readonly param?: string
  readonly retryAfterMs?: number | undefined
  /**
   * Whether an SDK may send the request again by itself, which `x-should-retry` tells it. False once a tool call has
   * started. Default: only after a 429, and for what is busy or unavailable for now.
   */
  readonly mayRetry?: boolean
  /** Further members of the answer, such as the run's id. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Further headers of the answer, such as those of a run. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * An error for the caller, whether the caller or the edge caused it. Handlers throw it; `app/edge.ts` turns it into a
 * response.
 */
export class Problem extends Error {
  readonly details: ProblemDetails

  constructor(details: ProblemDetails) {
    super(details.message)
    this.name = 'Problem'
    this.details = details
  }
}

/** Returns the request that a body was decoded to. Throws the Problem of a body that OpenAI's surfaces refuse. */
export function unwrapRequest<Request>(
  decoded: { readonly ok: true; readonly request: Request } | { readonly ok: false; readonly error: OpenAiFault },
): Request {
  if (decoded.ok) return decoded.request
  const { message, param, code } = decoded.error
  throw new Problem({ status: 400, code, message, ...(param !== null && { param }) })
}

/** Returns a response as in RFC 9457, with a stable `code`. It has no `type`, which therefore is `about:blank`. */
export function problemJson({ details }: Problem): Response {
  const { status, code, message, param, extra } = details
  const body = { status, code, detail: message, ...extra }
  return Response.json(param === undefined ? body : { ...body, param }, {
    status,
    headers: { ...problemHeaders(details), 'content-type': 'application/problem+json' },
  })
}

/** Returns a response in OpenAI's error format, for `/v1`. */
export function openAiError({ details }: Problem): Response {
  return Response.json(openAiErrorObject(details), { status: details.status, headers: problemHeaders(details) })
}

export function problemHeaders({
  status,
  code,
  retryAfterMs,
  headers,
  mayRetry = status === 429 || code === 'conversation_busy' || code.endsWith('_unavailable'),
}: ProblemDetails): Record<string, string> {
  return {
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...headers,
    ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
    'x-should-retry': String(mayRetry),
  }
}

const BUSY_RETRY_MS = 1000

/** Returns the Problem of a quota that is used up: 507 for what is stored, 429 for what is under way. */
export function quotaProblem(reached: ReachedQuota): Problem {
  const isStorage = QUOTAS[reached.quota].of === 'storage'
  return new Problem({
    status: isStorage ? 507 : 429,
    code: 'quota_exceeded',
    message: quotaMessage(reached),
    ...(isStorage ? { mayRetry: false } : { retryAfterMs: BUSY_RETRY_MS }),
    extra: { ...reached },
  })
}

/** The HTTP statuses of refusals; a code that is not listed is a 409. */
const REFUSALS: Partial<Record<Refusal['code'], number>> = {
  unknown_conversation: 404,
  conversation_deleted: 410,
  unknown_run: 404,
  unknown_call: 404,
  unknown_message: 404,
  unknown_step: 404,
  own_run: 403,
  second_person_needed: 403,
  refused: 403,
  bad_event_id: 400,
  tool_name_conflict: 400,
  copy_too_large: 413,
  invalid_copy: 422,
  no_recovery: 501,
  queue_full: 429,
  idempotency_mismatch: 422,
}

const QUEUE_RETRY_MS = 5000

/** Returns the reply of a conversation. Throws a Problem if the reply is a refusal. */
export function unwrapReply<Value>(reply: ({ ok: true } & Value) | Refusal): { ok: true } & Value {
  if (reply.ok) return reply
  const { code, message, run, reached } = reply
  if (reached) throw quotaProblem(reached)
  throw new Problem({
    status: REFUSALS[code] ?? 409,
    code,
    message,
    ...(code === 'queue_full' && { retryAfterMs: QUEUE_RETRY_MS }),
    ...(run && { mayRetry: false, extra: { runId: run.id, run } }),
  })
}
