import type { Config } from '../../contract/config.ts'

/**
 * Returns the tool context of a request: the values that it sends over the edge's defaults, and the edge's pinned values
 * over both. Unless they have one, a `timeZone` is added: that of the place from which the request came, if the platform
 * knows it.
 */
export function requestValues(
  request: Request,
  { context, pinnedContext }: Pick<Config, 'context' | 'pinnedContext'>,
  values: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const timeZone = request.cf?.timezone
  return { ...(timeZone !== undefined && { timeZone }), ...context, ...values, ...pinnedContext }
}
