/**
 * http/: the edge's doors on the web, in Hono. `edge.ts` is the route table; one file per surface. May import contract/,
 * wire/, tool/ and loop/. Must never know a binding: it gets a Setup.
 */
import type { Refusal } from '../contract/conversation.ts'
import type { OpenAiFault } from '../wire/openai-chat/body.ts'

export interface ProblemDetails {
  readonly status: number
  /** Stable; what programs go by. */
  readonly code: string
  /** For people. */
  readonly message: string
  /** Where in the request, such as `tools[0].function.name`. */
  readonly param?: string
  readonly retryAfterMs?: number | undefined
  /** Whether an SDK may send the request again by itself; false once a tool call has started. */
  readonly mayRetry?: boolean
  /** Further members of the answer, such as the run's id. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Further headers of the answer, such as those of a run. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What a caller did wrong, or what went wrong for them. Thrown by handlers, turned into an answer in one place. */
export class Problem extends Error {
  readonly details: ProblemDetails

  constructor(details: ProblemDetails) {
    super(details.message)
    this.name = 'Problem'
    this.details = details
  }
}

/** Returns the request that a body was decoded to. Throws the Problem of a body that OpenAI's surfaces refuse. */
export function checked<Request>(
  decoded: { readonly ok: true; readonly request: Request } | { readonly ok: false; readonly error: OpenAiFault },
): Request {
  if (decoded.ok) return decoded.request
  const { message, param, code } = decoded.error
  throw new Problem({ status: 400, code, message, ...(param !== null && { param }) })
}

/** Returns the answer of RFC 9457, with a stable `code`; without a `type`, which then is `about:blank`. */
export function problemJson({ details }: Problem): Response {
  const { status, code, message, param, extra } = details
  const body = { status, code, detail: message, ...extra }
  return Response.json(param === undefined ? body : { ...body, param }, {
    status,
    headers: { ...problemHeaders(details), 'content-type': 'application/problem+json' },
  })
}

/** The same in OpenAI's form, for `/v1`. */
export function openAiError({ details }: Problem): Response {
  const { status, code, message, param = null } = details
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error'
  return Response.json({ error: { message, type, param, code } }, { status, headers: problemHeaders(details) })
}

export function problemHeaders({ status, retryAfterMs, mayRetry, headers }: ProblemDetails): Record<string, string> {
  return {
    ...headers,
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
    ...(mayRetry === false && { 'x-should-retry': 'false' }),
  }
}

/** What is no conflict. */
const REFUSALS: Partial<Record<Refusal['code'], number>> = {
  unknown_conversation: 404,
  conversation_deleted: 410,
  unknown_run: 404,
  unknown_call: 404,
  bad_event_id: 400,
  queue_full: 429,
  idempotency_mismatch: 422,
}

const QUEUE_RETRY_MS = 5000

/** What a conversation granted; throws the Problem of what it refused. */
export function granted<Value>(reply: ({ ok: true } & Value) | Refusal): { ok: true } & Value {
  if (reply.ok) return reply
  const { code, message, run } = reply
  throw new Problem({
    status: REFUSALS[code] ?? 409,
    code,
    message,
    ...(code === 'queue_full' && { retryAfterMs: QUEUE_RETRY_MS }),
    ...(run && { mayRetry: false, extra: { runId: run.id, run } }),
  })
}
