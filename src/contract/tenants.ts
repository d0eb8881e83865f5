import type { Setup } from './setup.ts'

/** Names the directory of what belongs to no tenant. No tenant can have this name. */
export const EDGE_TENANT = '~edge'

/** How many pages of stored keys are read. */
const MOST_PAGES = 20

/**
 * Returns the tenants after one, in order: those of keys and of identity providers that name one. Tenants that are in the
 * tokens of callers alone are not known.
 */
export async function tenantsAfter(
  { config, storedKeys }: Pick<Setup, 'config' | 'storedKeys'>,
  after: string,
): Promise<readonly string[]> {
  const tenants = new Set(config.auth === 'open' ? ['local'] : config.apiKeys.map(({ tenant }) => tenant))
  for (const { tenant } of config.identityProviders) if (typeof tenant === 'string') tenants.add(tenant)
  let next: string | undefined
  const { list = async () => ({ keys: [], next: undefined }) } = storedKeys ?? {}
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await list(next)
    for (const { tenant } of page.keys) if (typeof tenant === 'string') tenants.add(tenant)
    next = page.next
    if (next === undefined) break
  }
  return [...tenants].filter((tenant) => tenant > after).toSorted()
}
