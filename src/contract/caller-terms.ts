import type { CallerTerms } from './api-key.ts'
import type { Config } from './config.ts'
import type { Caller } from './tool.ts'

/** Returns the terms of the caller's API key or identity provider; undefined with `AUTH=open`. */
export function termsOfCaller(
  { apiKeys, identityProviders }: Config,
  { tenant, key }: Caller,
): CallerTerms | undefined {
  if (key === undefined) return undefined
  return (
    apiKeys.findLast((each) => each.tenant === tenant && each.id === key) ??
    identityProviders.find(({ id }) => key.startsWith(`${id}:`))
  )
}
