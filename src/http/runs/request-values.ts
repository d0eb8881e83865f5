/**
 * Returns the tool context of a request: the given values and, unless they have one, a `timeZone`: that of the place
 * from which the request came, if the platform knows it.
 */
export function requestValues(
  request: Request,
  context: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const timeZone = request.cf?.timezone
  return timeZone === undefined ? context : { timeZone, ...context }
}
