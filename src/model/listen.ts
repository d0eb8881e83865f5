import type { ModelError, ModelEvent } from '../contract/model.ts'
import { STREAM_CUT, transient, WITHOUT_TOOLS } from '../wire/provider/model-error.ts'

/** The time limits of a model server, in milliseconds. */
export interface Timeouts {
  /** From the request to the response. Default: `firstTokenMs`, as some servers respond only with the first token. */
  readonly connectMs?: number | undefined
  /** From the request to the first event of the model; comments of the stream do not count. Default 120,000. */
  readonly firstTokenMs?: number | undefined
  /** Between two pieces of the answer, from then on. Default 60,000. */
  readonly idleMs?: number | undefined
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
  /** The API key, which no message may contain. */
  readonly secret?: string | undefined
  /** Converts an error that was thrown; undefined if it is not a known one. */
  readonly explain?: ((error: unknown) => ModelError | undefined) | undefined
}

const UNREACHABLE = transient('model_unreachable', 'The model server cannot be reached.')
const TIMED_OUT = transient('model_timeout', 'The model server timed out.')

/** Yields one answer as `ChatModel.stream` promises it, with time-outs. */
export async function* listen(options: Listen): AsyncGenerator<ModelEvent, void> {
  const { openStream, signal, explain, firstTokenMs = 120_000, connectMs = firstTokenMs, idleMs = 60_000 } = options
  if (signal.aborted) return
  // Aborted by the signal or by silence. One controller costs less than a signal that combines two.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const start = Date.now()
  let deadline = start + connectMs
  let timer = setTimeout(watch, Math.min(connectMs, idleMs))
  // The timer is set anew when it fires, not at every read. It fires at least every `idleMs`, to see each limit in
  // time.
  function watch(): void {
    const remainingMs = deadline - Date.now()
    if (remainingMs > 0) timer = setTimeout(watch, Math.min(remainingMs, idleMs))
    else stop.abort()
  }
  let failure = UNREACHABLE
  let isComplete = false
  try {
    const answer = await openStream(stop.signal)
    failure = STREAM_CUT
    deadline = start + firstTokenMs
    if (firstTokenMs < connectMs) {
      clearTimeout(timer)
      watch()
    }
    let hasBegun = false
    for await (const events of answer) {
      hasBegun ||= events.length > 0
      if (hasBegun) deadline = Date.now() + idleMs
      for (const event of events)
        yield event.type === 'error' ? { ...event, error: redactKey(event.error, options) } : event
    }
    isComplete = true
  } catch (error) {
    if (signal.aborted) return
    const reason = stop.signal.aborted ? TIMED_OUT : (explain?.(error) ?? failure)
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
