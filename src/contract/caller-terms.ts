import type { ApiKey, CallerTerms, StoredKey } from './api-key.ts'
import type { Setup } from './setup.ts'
import type { Caller } from './tool.ts'

type KeySetup = Pick<Setup, 'config' | 'storedKeys'>

/**
 * Returns the terms of the caller's API key or identity provider; undefined with `AUTH=open`. A stored key must have been
 * read: its caller was authenticated, or its run asked what it may do now.
 */
export function termsOfCaller({ config, storedKeys }: KeySetup, caller: Caller): CallerTerms | undefined {
  const { tenant, key } = caller
  if (key === undefined) return undefined
  const terms = configuredKey({ config }, caller) ?? config.identityProviders.find(({ id }) => key.startsWith(`${id}:`))
  return terms ?? ofTenant(storedKeys?.recent(key), tenant)
}

/** Returns the key of a caller as it is now, or was some seconds ago; undefined if there is none. */
export async function keyOfCaller(setup: KeySetup, caller: Caller): Promise<ApiKey | StoredKey | undefined> {
  const { tenant, key } = caller
  if (key === undefined) return undefined
  return configuredKey(setup, caller) ?? ofTenant(await setup.storedKeys?.load(key), tenant)
}

function configuredKey({ config }: Pick<Setup, 'config'>, { tenant, key }: Caller): ApiKey | undefined {
  return config.apiKeys.findLast((each) => each.tenant === tenant && each.id === key)
}

function ofTenant<Key extends ApiKey>(key: Key | undefined, tenant: string): Key | undefined {
  return key?.tenant === tenant ? key : undefined
}
