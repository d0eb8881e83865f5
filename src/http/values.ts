/**
 * The tool context of a request: what the caller sent, over what the request itself tells. `timeZone` is the zone of the
 * request's place where the platform knows it.
 */
export function requestValues(
  request: Request,
  context: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const timeZone = request.cf?.timezone
  return timeZone === undefined ? context : { timeZone, ...context }
}
