import { parseJson } from '../contract/json.ts'
import type { ModelError, ModelEvent, Patience } from '../contract/model.ts'
import { decodeText, readBody } from '../contract/bytes.ts'
import { retryAfterMs } from '../contract/time-limit.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import {
  modelError,
  type ProviderFault,
  STREAM_CUT,
  TIMED_OUT,
  transient,
  UNREACHABLE,
  WITHOUT_TOOLS,
} from '../wire/provider/model-error.ts'

/** The time limits of a model server, in milliseconds, for requests that bring none of their own. */
export interface Timeouts {
  /** From the request to the response. Default: `firstByteMs`, as some servers respond only with the first token. */
  readonly connectMs?: number | undefined
  /** From the request to the first byte of the answer. Default 30,000. */
  readonly firstByteMs?: number | undefined
  /** Between two pieces of the answer, from then on; comments of a stream are such pieces. Default 60,000. */
  readonly silenceMs?: number | undefined
}

export interface Listen extends Timeouts {
  /** The full name of the model, for messages. */
  readonly model: string
  /**
   * Sends the request, and resolves once there is a response, to its events, those of one read together. Contract:
   * rejects if no response came; the promise and the events end soon after the signal aborts.
   */
  readonly openStream: (signal: AbortSignal) => Promise<AsyncIterable<readonly ModelEvent[]>>
  readonly signal: AbortSignal
  /** What the request says; wins over the options of the model. */
  readonly patience?: Patience | undefined
  /** The API key, which no message may contain. */
  readonly secret?: string | undefined
  /** Converts an error that was thrown; undefined if it is not a known one. */
  readonly explain?: ((error: unknown) => ModelError | undefined) | undefined
}

const SILENT = transient(TIMED_OUT, 'The model server timed out.')

/** Yields one answer as `ChatModel.stream` promises it, with time-outs. */
export async function* listen(options: Listen): AsyncGenerator<ModelEvent, void> {
  const { openStream, signal, explain, patience = {} } = options
  const { firstByteMs = options.firstByteMs ?? 30_000, silenceMs = options.silenceMs ?? 60_000 } = patience
  const { connectMs = firstByteMs } = options
  if (signal.aborted) return
  // Aborted by the signal or by silence. One controller costs less than a signal that combines two.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const start = Date.now()
  let deadline = start + connectMs
  let timer = setTimeout(watch, Math.min(connectMs, silenceMs))
  // The timer is set again when it fires, not at every read. It fires at least every `silenceMs`, to see each limit in
  // time.
  function watch(): void {
    const remainingMs = deadline - Date.now()
    if (remainingMs > 0) timer = setTimeout(watch, Math.min(remainingMs, silenceMs))
    else stop.abort()
  }
  let failure = UNREACHABLE
  let isComplete = false
  try {
    const answer = await openStream(stop.signal)
    failure = STREAM_CUT
    deadline = start + firstByteMs
    if (firstByteMs < connectMs) {
      clearTimeout(timer)
      watch()
    }
    for await (const events of answer) {
      deadline = Date.now() + silenceMs
      for (const event of events)
        yield event.type === 'error' ? { ...event, error: redactKey(event.error, options) } : event
    }
    isComplete = true
  } catch (error) {
    if (signal.aborted) return
    const reason = stop.signal.aborted ? SILENT : (explain?.(error) ?? failure)
    yield { type: 'error', error: redactKey(reason, options) }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // Cancels what is still open of the request: nothing reads it.
    if (!isComplete) stop.abort()
  }
}

/** Removes the API key from an error, and adds the model's name if the model cannot call tools. */
function redactKey(error: ModelError, { model, secret }: Listen): ModelError {
  const message = secret ? error.message.replaceAll(secret, '[key]') : error.message
  return {
    ...error,
    message: error.code === WITHOUT_TOOLS ? `The model ${model} cannot call tools: ${message}` : message,
  }
}

/** Matches the delay before a retry, which Google gives only in the body (`google.rpc.RetryInfo`). */
const RETRY_INFO = /"retryDelay": *"([\d.]+)s"/

const REDIRECT =
  'The model server answered with a redirect, which is not followed: correct the base URL of the provider.'

/** Converts an error response: the status decides the code, the body explains it, the headers say when to retry. */
export async function refusedResponse(response: Response, explain: AnswerCodec['explain']): Promise<ModelError> {
  const { status, headers } = response
  // A browser's fetch shows a redirect that it did not follow as status 0.
  if (status < 400) {
    await response.body?.cancel()
    return modelError({ message: REDIRECT, status })
  }
  // A body that breaks off is ignored; the status is enough.
  const text = await readText(response).catch(() => '')
  const fault = explained(text, explain) ?? { message: `The model server answered with status ${status}.` }
  const [, delay] = RETRY_INFO.exec(text) ?? []
  const wait = retryAfterMs((name) => headers.get(name) ?? (name === 'retry-after' && delay))
  const advice = headers.get('x-should-retry')
  return {
    ...modelError({ ...fault, status }),
    ...(advice !== null && { retryable: advice === 'true' }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** Reads at most `most` bytes of a body as text, default 64 KiB; the rest is not fetched. Rejects if it breaks off. */
export async function readText(response: Response, most = 64 * 1024): Promise<string> {
  return decodeText((await readBody(response, most)).bytes)
}

function explained(text: string, explain: AnswerCodec['explain']): ProviderFault | undefined {
  const json = parseJson(text)
  if (typeof json === 'object') return explain(json)
  // Plain text may be shown, an HTML page may not.
  const message = (typeof json === 'string' ? json : text).trim()
  return message === '' || message.startsWith('<') ? undefined : { message }
}
