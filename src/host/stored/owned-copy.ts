import type { Owner } from '../../contract/owner.ts'
import type { ToolNamespace } from './version-cache.ts'

/**
 * Returns an owner's part of the catalogue's copy. The keys of the edge's definitions have no prefix, those of a
 * tenant's begin with the owner: `tenant:acme/tools:index`.
 */
export function copyOf(namespace: ToolNamespace, owner: Owner): ToolNamespace {
  if (owner === 'edge') return namespace
  const keyOf = (key: string) => `${owner}/${key}`
  return {
    get: async (keys, type) => {
      const values = await namespace.get(keys.map(keyOf), type)
      return new Map(keys.map((key) => [key, values.get(keyOf(key)) ?? null]))
    },
    put: (key, value) => namespace.put(keyOf(key), value),
  }
}
