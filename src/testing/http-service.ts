import type { CallStatus, ToolDescription, ToolOutcome, ToolRequest, ToolSuccess } from '../contract/tool.ts'
import type { TestedService } from './tested-service.ts'

interface SentRequest {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly signal?: AbortSignal
}

/** Sends a request to a path of the server, such as with a token added. */
type Send = (
  path: string,
  init?: SentRequest,
) => Promise<{ readonly ok: boolean; readonly status: number; text(): Promise<string> }>

/**
 * Returns the service of a tool Worker, or of any server in any language, that answers the tool contract over HTTP:
 * `GET /describe`, and `POST` of `/call`, `/status` and `/undo`. Its methods reject for an answer that is not JSON or
 * whose status is not 2xx.
 *
 * @example
 * expect(await checkConformance(toolServiceAt('http://127.0.0.1:8000'))).toEqual([])
 */
export function toolServiceAt(url: string | Send): TestedService {
  const send: Send =
    typeof url === 'function' ? url : (path, init) => fetch(`${url}${path}`, { ...init, redirect: 'manual' })
  const ask = async <Answer>(path: string, init?: SentRequest): Promise<Answer> => {
    const response = await send(path, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return JSON.parse(text)
  }
  const post = <Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' }
    return ask(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
  }
  return {
    describe: () => ask<ToolDescription>('/describe'),
    call: (request: ToolRequest) => post<ToolOutcome>('/call', request),
    status: (request: ToolRequest) => post<CallStatus>('/status', request),
    undo: (request: ToolRequest, outcome: ToolSuccess) => post<ToolOutcome>('/undo', { request, outcome }),
    // Over HTTP an edge that wants the outcome no more closes the connection, and nothing can be answered.
    callAborted: async (request, { afterMs }) => {
      await post('/call', request, AbortSignal.timeout(afterMs)).catch(() => {})
      return ask<ToolDescription>('/describe')
    },
  }
}
