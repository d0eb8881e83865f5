import { isObject, parseJson } from '../contract/json.ts'
import { retryAfterMs } from '../contract/retry-after.ts'

/** An error that an edge answered, or a failure of the connection to it. */
export class EdgecallError extends Error {
  /**
   * A stable code, such as `unknown_tool`. `unreachable`, `redirected`, `stream_cut` and `bad_answer` mean that no edge
   * answered, or not completely; `http_` and the status, that an error response had no code.
   */
  readonly code: string
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /** The id of the run that failed, if the edge gave it. */
  readonly runId: string | undefined
  /** How long to wait before trying again, in milliseconds, if the edge gave it. */
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

/** Converts an error response, which may also come from something other than an edge. */
export async function errorFromResponse(response: Response): Promise<EdgecallError> {
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
