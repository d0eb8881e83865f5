import { isObject, parseJson } from '../contract/json.ts'
import { retryAfterMs } from '../contract/retry-after.ts'

/** What an edge refused, or what went wrong on the way to it. */
export class EdgecallError extends Error {
  /** Stable, such as `unknown_tool`; `unreachable`, `stream_cut` and `bad_answer` where no edge answered, or not wholly. */
  readonly code: string
  /** The HTTP status; 0 where there was none. */
  readonly status: number
  /** The run that failed, where the edge says it. */
  readonly runId: string | undefined
  /** How long to wait before trying again, in milliseconds, where the edge says it. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    {
      code,
      status = 0,
      runId,
      retryAfterMs,
      cause,
    }: {
      code: string
      status?: number
      runId?: string | undefined
      retryAfterMs?: number | undefined
      cause?: unknown
    },
  ) {
    super(message, { cause })
    this.name = 'EdgecallError'
    this.code = code
    this.status = status
    this.runId = runId
    this.retryAfterMs = retryAfterMs
  }
}

/** What an answer without success says; something other than an edge may have given it. */
export async function errorOf(response: Response): Promise<EdgecallError> {
  const { status, statusText, headers } = response
  const text = await response.text().catch(() => '')
  const problem = parseJson(text)
  const { code, detail, runId } = isObject(problem) ? problem : {}
  return new EdgecallError(typeof detail === 'string' ? detail : `HTTP ${status} ${statusText}`, {
    code: typeof code === 'string' ? code : `http_${status}`,
    status,
    runId: typeof runId === 'string' ? runId : undefined,
    retryAfterMs: retryAfterMs((name) => headers.get(name)),
  })
}
