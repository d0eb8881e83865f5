import type { Config } from '../../contract/config.ts'

/**
 * Returns the tool context of a request: the edge's defaults, overridden by the values that the request sends, and all
 * of these by the edge's pinned values. If none of them has a `timeZone`, that of the place from which the request came
 * is added, if the platform knows it.
 */
export function requestValues(
  request: Request,
  { context, pinnedContext }: Pick<Config, 'context' | 'pinnedContext'>,
  values: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const timeZone = request.cf?.timezone
  return { ...(timeZone !== undefined && { timeZone }), ...context, ...values, ...pinnedContext }
}
