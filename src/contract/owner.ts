/**
 * The owner of stored definitions: the edge, whose definitions are there for all tenants, or one tenant, which alone
 * sees and calls its own. Each owner has names, versions and a history of its own.
 */
export type Owner = 'edge' | `${typeof OF_TENANT}${string}`

const OF_TENANT = 'tenant:'

export function tenantOwner(tenant: string): Owner {
  return `${OF_TENANT}${tenant}`
}

/** Returns the place of a stored definition, by which policies (`@…`) and listings name it. */
export function storedPlace(owner: Owner, name: string): string {
  return owner === 'edge' ? `tool:${name}` : `${owner}/${name}`
}

/** Whether a place is that of a definition which a tenant owns. No binding has such a name. */
export function isTenantPlace(place: string): boolean {
  return place.startsWith(OF_TENANT)
}

/**
 * Returns the places by which policies name a tool, one for each of its names: the place of a stored definition ends with
 * the name on offer.
 */
export function placesOf(place: string, [name = '', ...others]: readonly string[]): readonly string[] {
  const isStored = place.endsWith(`:${name}`) || place.endsWith(`/${name}`)
  return [place, ...(isStored ? others.map((other) => place.slice(0, -name.length) + other) : [])]
}
