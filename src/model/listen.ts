import type { ModelError, ModelEvent } from '../contract/model.ts'
import { STREAM_CUT, transient, WITHOUT_TOOLS } from '../wire/model-error.ts'

/** Milliseconds that a model server may take. */
export interface Patience {
  /** Until it begins to answer. Default: as `firstTokenMs`, for some servers do so with their first token only. */
  readonly connectMs?: number | undefined
  /** From the request until the model says something; comments are nothing. Default 120,000. */
  readonly firstTokenMs?: number | undefined
  /** Between two pieces of its answer, from then on. Default 60,000. */
  readonly idleMs?: number | undefined
}

export interface Listen extends Patience {
  /** The whole name of the model, for messages. */
  readonly model: string
  /**
   * Asks, and resolves once there is an answer: its events, those of one read together. Contract: rejects where no answer
   * came; both end soon after the signal aborts.
   */
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<readonly ModelEvent[]>>
  readonly signal: AbortSignal
  /** The key, which no message may hold. */
  readonly secret?: string | undefined
  /** What an error that was thrown says; undefined where it says nothing. */
  readonly explain?: ((error: unknown) => ModelError | undefined) | undefined
}

const UNREACHABLE = transient('model_unreachable', 'The model server cannot be reached.')
const TIMED_OUT = transient('model_timeout', 'The model server timed out.')

/** One answer, heard with patience, as `ChatModel.stream` promises it. */
export async function* listen(options: Listen): AsyncGenerator<ModelEvent, void> {
  const { open, signal, explain, firstTokenMs = 120_000, connectMs = firstTokenMs, idleMs = 60_000 } = options
  if (signal.aborted) return
  const silence = new AbortController()
  const start = Date.now()
  let due = start + connectMs
  let timer = setTimeout(watch, Math.min(connectMs, idleMs))
  // One timer is moved on when it rings, not at every read; so it rings as often as the shortest time.
  function watch(): void {
    const left = due - Date.now()
    if (left > 0) timer = setTimeout(watch, Math.min(left, idleMs))
    else silence.abort()
  }
  let failure = UNREACHABLE
  try {
    const answer = await open(AbortSignal.any([signal, silence.signal]))
    failure = STREAM_CUT
    due = start + firstTokenMs
    if (firstTokenMs < connectMs) {
      clearTimeout(timer)
      watch()
    }
    let hasBegun = false
    for await (const events of answer) {
      hasBegun ||= events.length > 0
      if (hasBegun) due = Date.now() + idleMs
      for (const event of events) yield event.type === 'error' ? { ...event, error: told(event.error, options) } : event
    }
  } catch (error) {
    if (signal.aborted) return
    const reason = silence.signal.aborted ? TIMED_OUT : (explain?.(error) ?? failure)
    yield { type: 'error', error: told(reason, options) }
  } finally {
    clearTimeout(timer)
    // Whatever is still open of the request is not read any more.
    silence.abort()
  }
}

/** An error without the key, and with the model's name where it is about what that model can do. */
function told(error: ModelError, { model, secret }: Listen): ModelError {
  const said = secret ? error.message.replaceAll(secret, '[key]') : error.message
  return { ...error, message: error.code === WITHOUT_TOOLS ? `The model ${model} cannot call tools: ${said}` : said }
}
