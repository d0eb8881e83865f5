import { endsAnswer, isNewsType, type RunEvent } from '../contract/event.ts'
import { digitKeeper, encodeExactly, mayHaveLong } from '../contract/exact-numbers.ts'
import { isObject, type JsonObject, parseJson } from '../contract/json.ts'
import type { ProviderOptions, ResponseFormat, ToolChoice } from '../contract/model.ts'
import type { CallRecord, ClientTool, RunRecord } from '../contract/run.ts'
import { pause, retryAfterMs } from '../contract/time-limit.ts'
import type { InputMessage, RunOptions, Sampling } from '../wire/client/request.ts'
import { readSse } from '../wire/sse.ts'

export interface SendOptions {
  readonly method?: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Sends one request. Throws an EdgecallError unless it succeeds, and the signal's reason if that aborts. */
export type Send = (path: string, options?: SendOptions) => Promise<Response>

export function sender({ url, key, headers, fetch = globalThis.fetch.bind(globalThis) }: ClientOptions): Send {
  const base = url.replace(/\/+$/, '')
  return async (path, { method, json, signal, ...options } = {}) => {
    const init: RequestInit = {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...options.headers,
      },
      ...(json !== undefined && { body: encodeExactly(json) }),
      // Another server must not get the key.
      redirect: 'manual',
      signal,
    }
    const response = await fetch(base + path, init).catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw new EdgecallError(`The edge at ${base} could not be reached.`, { code: 'unreachable', cause })
    })
    const { ok, status } = response
    // A browser shows a redirect that it did not follow as status 0.
    if (!ok && status < 400) {
      await response.body?.cancel()
      throw new EdgecallError(`${base} redirects; give the URL of the edge itself.`, { code: 'redirected', status })
    }
    if (!ok) throw await errorFromResponse(response)
    return response
  }
}

/** Tells whether a value has the shape of a run or a conversation. */
export function hasId(value: unknown): boolean {
  return isObject(value) && typeof value['id'] === 'string'
}

/**
 * Sends one request and parses its JSON answer, of which only `isOfShape` is checked. Throws as `send` does, and an
 * EdgecallError for an answer that is incomplete or has another shape.
 */
export async function requestJson<Value>(
  send: Send,
  path: string,
  isOfShape: (value: unknown) => boolean,
  options: SendOptions = {},
): Promise<Value> {
  const response = await send(path, options)
  try {
    const text = await response.text().catch((cause: unknown) => {
      throw new CutAnswer('The connection was lost.', { cause })
    })
    const value: Value = JSON.parse(text, mayHaveLong(text) ? digitKeeper() : undefined)
    if (isOfShape(value)) return value
    throw new TypeError('The response did not come from an edge.')
  } catch (cause) {
    options.signal?.throwIfAborted()
    const { status } = response
    throw new EdgecallError('The response is not a valid answer of an edge.', { code: 'bad_answer', status, cause })
  }
}

/** Why an answer is not complete. */
class CutAnswer extends Error {}

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
async function errorFromResponse(response: Response): Promise<EdgecallError> {
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

/** The delays before each attempt to reopen a stream, in milliseconds. An event resets the attempts. */
const DELAYS_MS = [0, 250, 500, 1000, 2000, 4000, 8000]

/**
 * Yields the events of a run until it ends or waits for others than agents that are at work. `open` requests them, from the start or
 * after an event. With `mayReopen`, a lost connection is reopened after the last event. Throws an EdgecallError if the
 * edge refuses, and after about 16 seconds without a connection.
 */
export async function* follow<Tool extends string>(
  open: (after: EventOf<Tool> | undefined) => Promise<Response>,
  { mayReopen, signal }: { mayReopen: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<EventOf<Tool>, void> {
  let last: EventOf<Tool> | undefined
  let isOver = false
  for (let attempt = 0; ; attempt++) {
    try {
      const { body } = await open(last)
      for await (const frames of body ? readSse(body) : []) {
        for (const { data } of frames) {
          last = eventOf<Tool>(data)
          isOver = isNewsType(last.type) ? isOver : endsAnswer(last)
          attempt = 0
          yield last
        }
      }
      if (isOver || !body) return
      throw new Error('The stream ended before its run did.')
    } catch (cause) {
      signal?.throwIfAborted()
      const delay = DELAYS_MS[attempt]
      if (cause instanceof EdgecallError && !isPassing(cause)) throw cause
      if (!mayReopen || delay === undefined)
        throw cause instanceof EdgecallError ? cause : connectionLost(last?.runId, cause)
      await pause(delay, signal)
      signal?.throwIfAborted()
    }
  }
}

/** Parses an event. That its tools are among `Tool` is not checked: the caller asserts it. */
function eventOf<Tool extends string>(line: string): EventOf<Tool> {
  const event: EventOf<Tool> = JSON.parse(line, mayHaveLong(line) ? digitKeeper() : undefined)
  if (isObject(event)) return event
  throw new TypeError('An event is an object.')
}

/**
 * Tells whether an error may pass: the edge was not reached, a 5xx response had no code of an edge, or the connection was
 * lost during the answer.
 */
export function isPassing({ code, cause }: EdgecallError): boolean {
  return code === 'unreachable' || code.startsWith('http_5') || cause instanceof CutAnswer
}

function connectionLost(runId: string | undefined, cause: unknown): EdgecallError {
  return new EdgecallError('The event stream of the run ended early.', { code: 'stream_cut', runId, cause })
}

/** A type with its member `tool` narrowed to the names in `Tool`. */
type WithToolName<Value, Tool> = Value extends { readonly tool: string }
  ? Omit<Value, 'tool'> & { readonly tool: Tool }
  : Value

/** An event of a run, with the names of tools narrowed to `Tool`. */
export type EventOf<Tool extends string = string> = WithToolName<RunEvent, Tool>

/** The record of a run, with the names of tools narrowed to `Tool`. */
export type RecordOf<Tool extends string = string> = Omit<RunRecord, 'calls'> & {
  readonly calls: readonly WithToolName<CallRecord, Tool>[]
}

/** The input and options of a run, as in `POST …/runs`. A text as `input` is one user message. */
export interface RunInput<Tool extends string = string> extends Omit<RunOptions, 'tools'> {
  readonly input: string | readonly InputMessage[]
  readonly system?: string
  readonly model?: string
  readonly tools?: readonly Tool[] | { readonly add?: readonly Tool[]; readonly remove?: readonly Tool[] }
  readonly clientTools?: readonly ClientTool[]
  readonly toolChoice?: Extract<ToolChoice, string> | { readonly tool: Tool }
  readonly responseFormat?: ResponseFormat
  readonly sampling?: Sampling
  /** Members that are added to requests to providers, by their names, as far as `PROVIDER_OPTIONS` allows them. */
  readonly providerOptions?: ProviderOptions
}

/** Where the edge is, and how to reach it. */
export interface ClientOptions {
  /** The base URL of the edge, such as `https://edge.example.com`. */
  readonly url: string
  /** An API key. Never put one into a public page: let your own server call the edge instead. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the global `fetch`. */
  readonly fetch?: (input: string, init?: RequestInit) => Promise<Response>
}

/** Options of one request for a run. */
export interface AskOptions {
  readonly signal?: AbortSignal
  /** Requests with the same key make one run. Default in a conversation: a new key. */
  readonly idempotencyKey?: string
}

/** What a person sends with the approval of a call. */
export interface ApproveOptions {
  /** Take the place of the model's arguments. The tool validates them, and the model is told of the change. */
  readonly arguments?: JsonObject
  /** SHA-256 of the canonical JSON of the arguments that were seen: a call with others is not approved. */
  readonly argumentsHash?: string
  /** What the person filled in, by the names of what the call asks for. */
  readonly input?: Readonly<Record<string, JsonObject>>
}
