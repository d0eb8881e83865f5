import { Problem } from './problem.ts'

/** Bytes of a request's tool context. */
const MOST_BYTES = 16 * 1024

/**
 * The tool context of a request: what the caller sent, over what the request itself tells. `timeZone` is the zone of
 * the request's place where the platform knows it.
 */
export function requestValues(
  request: Request,
  context: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (new TextEncoder().encode(JSON.stringify(context)).byteLength > MOST_BYTES) {
    const message = `The tool context is over ${MOST_BYTES} bytes.`
    throw new Problem({ status: 400, code: 'context_too_large', message, param: 'context' })
  }
  const timeZone = request.cf?.timezone
  return timeZone === undefined ? context : { timeZone, ...context }
}
