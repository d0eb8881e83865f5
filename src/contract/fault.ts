/** A fault for operators: of a model with `model`, of a call with `callId`, or else of a hook or an observer. */
export interface RunFault {
  readonly model?: string
  readonly callId?: string
  readonly tool?: string
  readonly code: string
  /** The HTTP status of the provider, if there was one. */
  readonly status?: number
  /** How many requests were made to the model, or how often the call was sent. */
  readonly attempts?: number
  readonly durationMs?: number
  /** Whether the model is asked again. Default: no. */
  readonly isRetried?: boolean
  readonly detail?: string
}

/** A fault as a conversation stores it. */
export interface StoredFault extends RunFault {
  /** When it was reported, in epoch milliseconds. */
  readonly at: number
  /** The step in which it happened; absent before the first one. */
  readonly step?: number
}
