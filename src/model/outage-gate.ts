import type { ChatModel, ModelError } from '../contract/model.ts'
import { attempts, failing } from './http-models.ts'

/** After so many failures in a row, the requests to a provider are spread. */
const OUTAGE_FAILURES = 5
/** The time between two requests to a failing provider: first, and at most after further failures. */
const FIRST_INTERVAL_MS = 250
const LONGEST_INTERVAL_MS = 4000
/** Once answers have shortened the time between two requests to less than this, all requests are sent again. */
const OPEN_BELOW_MS = 20

/** The failures of a provider that is overloaded or cannot be reached. */
const OUTAGES = new Set(['model_rate_limited', 'model_unavailable', 'model_unreachable'])

export interface OutageGateOptions {
  readonly now?: (() => number) | undefined
  /** Returns a number from 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

/**
 * Bounds the requests of an isolate to a provider that fails. After five failures in a row it sends one request in
 * 250 ms, and after each further failure half as many, down to one in four seconds; after each answer twice as many, until
 * all are sent again. A request that is not sent fails at once, with the provider's last failure, 0 attempts, and the time
 * to wait.
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
        return attempts(
          () => model.stream(request, signal, onRetry),
          (error) => {
            this.#onFailure(error, isProbe)
            return undefined
          },
          () => this.#onAnswer(isProbe),
        )
      },
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

  #onFailure(error: ModelError, isProbe: boolean): void {
    const { code, retryable } = error
    if (!retryable || !OUTAGES.has(code)) return
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
    this.#intervalMs = this.#intervalMs / 2 < OPEN_BELOW_MS ? 0 : this.#intervalMs / 2
    this.#nextAt = Math.min(this.#nextAt, this.#now() + this.#intervalMs)
  }
}
