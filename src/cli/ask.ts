import type { RunEvent, RunFinished } from '../contract/event.ts'
import { decodeEvents } from '../wire/events.ts'
import { type EdgeAddress, problemOf, send } from './edge.ts'
import { Failure } from './failure.ts'

export interface QuestionToEdge {
  readonly onEvent: (event: RunEvent) => void
  readonly signal: AbortSignal
  /** The conversation that the question continues. Default: none. */
  readonly conversation?: string | undefined
  /** Default: the edge's. */
  readonly model?: string | undefined
}

/**
 * Asks an edge one question, and passes on the run's events as they come. Resolves when the run has completed. Throws a
 * Failure with the reason if the run is refused, does not complete, or if its events break off.
 */
export async function askQuestion(
  edge: EdgeAddress,
  question: string,
  { onEvent, signal, conversation, model }: QuestionToEdge,
): Promise<void> {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const more = { ...(conversation !== undefined && { conversation }), ...(model !== undefined && { model }) }
  const body = { input: question, context: { timeZone }, ...more }
  const response = await send(edge, { method: 'POST', path: '/runs', body, accept: 'text/event-stream' }, signal)
  if (!response.ok) {
    const { code, message } = await problemOf(response)
    throw new Failure(`The run was refused: ${message}`, hintOf(code))
  }
  const finished = await follow(response, onEvent).catch((error: unknown) => {
    signal.throwIfAborted()
    throw new Failure(`The answer broke off: ${error instanceof Error ? error.message : String(error)}`)
  })
  if (!finished) throw new Failure('The answer ended before the run had finished.')
  if (finished.status !== 'completed') {
    const { status, error, finish } = finished
    throw new Failure(`The run ${status}: ${error?.message ?? finish}`, hintOf(error?.code))
  }
}

/** The error codes that the operator can resolve with the edge's variables. */
const SETTINGS = /^model_(?:not_configured|not_found|unauthorized|unreachable)$/

/** Returns whether a run failed for the settings of its model, so that each further one will. */
export function isSettingsError(code = ''): boolean {
  return SETTINGS.test(code)
}

function hintOf(code?: string): string {
  return isSettingsError(code) ? 'Check MODEL, and the …_API_KEY and …_BASE_URL of its provider.' : ''
}

/** Returns the last event of a run, or undefined if the stream ends without it. */
async function follow(response: Response, onEvent: (event: RunEvent) => void): Promise<RunFinished | undefined> {
  for await (const event of eventsOf(response)) {
    onEvent(event)
    if (event.type === 'run.finished') return event
  }
  return undefined
}

/** Reads the events of a run from the response that streams them. */
export async function* eventsOf({ body }: Response): AsyncGenerator<RunEvent> {
  if (body) yield* decodeEvents(body)
}
