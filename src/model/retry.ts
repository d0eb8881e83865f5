import {
  type ChatModel,
  failsForNow,
  type ModelCapabilities,
  type ModelError,
  type ModelEvent,
} from '../contract/model.ts'
import { pause } from '../contract/time-limit.ts'
import { attempts, failing } from './http-models.ts'
import { TIMED_OUT } from '../wire/provider/model-error.ts'

export interface RetryOptions {
  /** The number of requests in all. Default 3. */
  readonly attempts?: number | undefined
  /** Returns a number from 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined
  /** Contract: resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

const SHORTEST_MS = 500
const LONGEST_MS = 8000
/** The longest wait here that a provider may ask for. For longer ones, the run waits. */
const LONGEST_ASKED_MS = 2000

/**
 * Makes a model that asks again if the model fails before its first event with a retryable error, except for a time-out:
 * the next model of a list of fallbacks is then asked at once, and a run starts its step again. It waits as long as
 * the provider asks, up to 2 s, else a random time below 0.5 s, 1 s, … 8 s. If the provider asks for a longer wait, or
 * after the last attempt, the failure is reported with the number of attempts. A run that has waited for the model asks it
 * once, and waits again.
 */
export function retrying(model: ChatModel, options: RetryOptions = {}): ChatModel {
  const { attempts: most = 3, random = Math.random, sleep = pause } = options

  function waitMs({ retryAfterMs = 0 }: ModelError, failures: number): number {
    // A provider that asks for no wait gets the random one too, so that its clients do not all come back at once.
    return retryAfterMs || random() * Math.min(SHORTEST_MS * 2 ** (failures - 1), LONGEST_MS)
  }

  return {
    ...model,
    stream: (request, signal, onRetry) => {
      const startStream = () => model.stream(request, signal, onRetry)
      return attempts(startStream, async (error, failures) => {
        // The provider fails for now, and was not asked.
        if (error.attempts === 0) return failures === 1 ? undefined : failing({ ...error, attempts: failures - 1 })
        const wait = waitMs(error, failures)
        const isLast = failures >= (request.waits ? 1 : most)
        if (!error.retryable || error.code === TIMED_OUT || isLast || (error.retryAfterMs ?? 0) > LONGEST_ASKED_MS) {
          const isCounted = failures === 1 || error.attempts !== undefined
          return isCounted ? undefined : failing({ ...error, attempts: failures })
        }
        onRetry?.(error)
        if (!signal.aborted) await sleep(wait, signal)
        return signal.aborted ? undefined : startStream()
      })
    },
  }
}

export interface FallbackOptions {
  /** Decides after which failures the next model is asked. Default: all but a request refused for its content. */
  readonly after?: ((error: ModelError) => boolean) | undefined
}

/**
 * Makes one model of several: each is asked if the one before it failed before its first event. If an answer breaks off
 * later, or the model falls silent, the step starts again with the next one. It has the name and the
 * price of the first, and the capabilities that all of them have. If all fail, the failure is reported that may pass
 * soonest, so that a run waits for one model that is overloaded although another one refuses its key.
 *
 * @example
 * const models = anthropic({ apiKey: textOf(env, 'ANTHROPIC_API_KEY') })
 * const model = fallingBack([models('claude-opus-4-5'), openai()('gpt-5.2')])
 */
export function fallingBack(models: readonly [ChatModel, ...ChatModel[]], options: FallbackOptions = {}): ChatModel {
  const { after = ({ code }) => code !== 'model_refused_request' } = options
  const capabilities = common(models)
  const { hints: _hints, ...model } = models[0]
  const hints = models[0].hints?.filter((hint) => models.every((each) => each.hints?.includes(hint)))
  return {
    ...model,
    ...(capabilities && { capabilities }),
    ...(hints?.length && { hints }),
    stream: (request, signal, onRetry) => {
      const { cuts = 0, waits = 0 } = request
      const first = (cuts > 0 ? cuts + waits : 0) % models.length
      const order = [...models.slice(first), ...models.slice(0, first)]
      const ask = (at: number) => order[at]?.stream(request, signal, onRetry)
      let soonest: ModelError | undefined
      let isReported = false
      return attempts(
        () => ask(0) ?? models[0].stream(request, signal, onRetry),
        (error, failures) => {
          if (isReported) return undefined
          if (!soonest || passesAfterMs(error) <= passesAfterMs(soonest)) soonest = error
          const isNextAsked = after(error) && !signal.aborted && failures < order.length
          if (!isNextAsked && soonest === error) return undefined
          onRetry?.(error)
          if (isNextAsked) return ask(failures)
          isReported = true
          return failing(soonest)
        },
      )
    },
  }
}

/** Returns how soon a failure may pass, in milliseconds: Infinity for never, and below 0 if a shorter prompt is enough. */
function passesAfterMs(error: ModelError): number {
  if (error.overflow) return -1
  return failsForNow(error) ? (error.retryAfterMs ?? 0) : Infinity
}

/** Returns the common capabilities; undefined if those of the first are unknown. Unknown ones of others are ignored. */
function common([first, ...rest]: readonly [ChatModel, ...ChatModel[]]): ModelCapabilities | undefined {
  return first.capabilities && rest.reduce((all, { capabilities = all }) => both(all, capabilities), first.capabilities)
}

function both(a: ModelCapabilities, b: ModelCapabilities): ModelCapabilities {
  return {
    tools: a.tools && b.tools,
    parallelCalls: a.parallelCalls && b.parallelCalls,
    singleCalls: a.singleCalls && b.singleCalls,
    toolChoice: a.toolChoice && b.toolChoice,
    streamedArguments: a.streamedArguments && b.streamedArguments,
    imagesInResults: a.imagesInResults && b.imagesInResults,
    structuredOutput: a.structuredOutput && b.structuredOutput,
    imageUrls: a.imageUrls && b.imageUrls,
    fileUrls: a.fileUrls && b.fileUrls,
  }
}

/** After so many failures in a row, the requests to a provider are spread. */
const OUTAGE_FAILURES = 5
/** The time between two requests to a failing provider: first, and at most after further failures. */
const FIRST_INTERVAL_MS = 250
const LONGEST_INTERVAL_MS = 4000
/** Once answers have shortened the time between two requests to less than this, all requests are sent again. */
const OPEN_BELOW_MS = 20

export interface OutageGateOptions {
  readonly now?: (() => number) | undefined
  /** Returns a number from 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

/**
 * Bounds the requests of an isolate to a provider that fails. After five failures in a row it sends one request in
 * 250 ms, and after each further failure half as many, down to one in four seconds; after each answer twice as many, until
 * all are sent again. An answer counts from its first event on, but only at its end once answers have broken off. A request
 * that is not sent fails at once, with the provider's last failure, 0 attempts, and the time to wait.
 */
export class OutageGate {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  /** The time between two requests, in milliseconds; 0 if all are sent. */
  #intervalMs = 0
  /** When the next request is sent, in epoch milliseconds. */
  #nextAt = 0
  #lastError: ModelError | undefined
  /** Whether answers have broken off since the last one that counted. */
  #breaksOff = false

  constructor({ now = Date.now, random = Math.random }: OutageGateOptions = {}) {
    this.#now = now
    this.#random = random
  }

  /** Makes a model of the provider whose requests pass through the gate. */
  guard(model: ChatModel): ChatModel {
    return {
      ...model,
      stream: (request, signal, onRetry) => {
        const isProbe = this.#intervalMs > 0
        const refusal = this.#refuse()
        if (refusal) return failing(refusal)
        return this.#watch(model.stream(request, signal, onRetry), isProbe)
      },
    }
  }

  async *#watch(events: AsyncIterable<ModelEvent>, isProbe: boolean): AsyncGenerator<ModelEvent, void> {
    let hasBegun = false
    let counts = false
    for await (const event of events) {
      if (event.type === 'error') this.#onFailure(event.error, isProbe, hasBegun)
      else if (!counts && (event.type === 'finish' || !this.#breaksOff)) {
        counts = true
        this.#onAnswer(isProbe)
      }
      hasBegun = true
      yield event
    }
  }

  /** Takes the turn of a request, or returns the failure of one that must wait. */
  #refuse(): ModelError | undefined {
    const now = this.#now()
    if (this.#intervalMs === 0 || !this.#lastError) return undefined
    if (now >= this.#nextAt) {
      this.#nextAt = now + this.#intervalMs
      return undefined
    }
    const retryAfterMs = this.#nextAt - now + this.#random() * this.#intervalMs
    return { ...this.#lastError, attempts: 0, retryAfterMs }
  }

  #onFailure(error: ModelError, isProbe: boolean, hasBegun: boolean): void {
    if (!failsForNow(error)) return
    this.#breaksOff ||= hasBegun
    this.#failures += 1
    if (this.#failures < OUTAGE_FAILURES) return
    this.#lastError = error
    if (this.#intervalMs === 0) this.#intervalMs = FIRST_INTERVAL_MS
    else if (isProbe) this.#intervalMs = Math.min(this.#intervalMs * 2, LONGEST_INTERVAL_MS)
    this.#nextAt = Math.max(this.#nextAt, this.#now() + this.#intervalMs)
  }

  /** An answer to a request from before the outage says nothing about it. */
  #onAnswer(isProbe: boolean): void {
    if (this.#intervalMs > 0 && !isProbe) return
    this.#failures = 0
    this.#breaksOff = false
    this.#intervalMs = this.#intervalMs / 2 < OPEN_BELOW_MS ? 0 : this.#intervalMs / 2
    this.#nextAt = Math.min(this.#nextAt, this.#now() + this.#intervalMs)
  }
}
