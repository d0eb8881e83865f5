import type { Objects } from '../contract/conversation.ts'
import type { DirectoryService } from '../contract/directory.ts'
import type { StoredTotals } from '../contract/quotas.ts'
import { shardOf } from '../contract/shard.ts'

/**
 * Returns directories that are divided among this many objects, of which `shardOf` names the one that lists a
 * conversation. The first is the tenant's only object without shards, and has its budgets. What was listed while there
 * were fewer stays where it is: all objects are read, and a conversation is removed from each.
 *
 * @example
 * shardedDirectories(env.DIRECTORIES, 4).getByName('acme').list('', 10)
 */
export function shardedDirectories(directories: Objects<DirectoryService>, objects: number): Objects<DirectoryService> {
  return { getByName: (tenant) => mergedDirectory(tenantObjects(directories, tenant, objects)) }
}

/** The objects of a tenant's directory. */
export interface TenantObjects<Service> {
  /** All that are in use. */
  readonly all: readonly Service[]
  /** Returns the object with a number, which may be in use since a later deployment only. */
  readonly at: (shard: number) => Service
}

export function tenantObjects<Service>(
  namespace: Objects<Service>,
  tenant: string,
  objects: number,
): TenantObjects<Service> {
  // No tenant's name contains a slash.
  const at = (shard: number) => namespace.getByName(shard === 0 ? tenant : `${tenant}/${shard}`)
  return { all: Array.from({ length: objects }, (_, shard) => at(shard)), at }
}

function mergedDirectory({ all, at }: TenantObjects<DirectoryService>): DirectoryService {
  const first = at(0)
  return {
    add: async (id, shard) => {
      if (shard !== undefined || all.length === 1) return at(shard ?? 0).add(id)
      const rooms = await Promise.all(all.map((each) => each.room(id)))
      if (!rooms.some(({ isListed }) => isListed)) await at(shardOf(id, all.length)).add(id)
    },
    resize: async (id, bytes, until, shard = 0) => {
      const totals = all.map((each, index) => (index === shard ? each.resize(id, bytes, until) : each.room(id)))
      return sumOf(await Promise.all(totals))
    },
    room: async (id) => {
      const rooms = await Promise.all(all.map((each) => each.room(id)))
      return { ...sumOf(rooms), isListed: rooms.some(({ isListed }) => isListed) }
    },
    remove: async (id) => void (await Promise.all(all.map((each) => each.remove(id)))),
    list: async (after, limit) => {
      const pages = await Promise.all(all.map((each) => each.list(after, limit)))
      return pages
        .flat()
        .toSorted((a, b) => (a < b ? -1 : 1))
        .slice(0, limit)
    },
    count: (spend) => first.count(spend),
    spendTotals: (...request) => first.spendTotals(...request),
  }
}

function sumOf(totals: readonly StoredTotals[]): StoredTotals {
  const sum = (name: keyof StoredTotals) => totals.reduce((total, each) => total + each[name], 0)
  return { conversations: sum('conversations'), storedBytes: sum('storedBytes') }
}
