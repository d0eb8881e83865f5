import type { Objects } from '../contract/conversation.ts'
import type { DirectoryService } from '../contract/directory.ts'
import type { StoredTotals } from '../contract/quotas.ts'

/**
 * Returns directories that list a tenant's conversations in this many objects, chosen by a hash of the conversation's id.
 * The first of them is the tenant's only object without shards, and has everything else. What was listed with fewer
 * shards stays where it is: all shards are listed, and a conversation is removed from each.
 *
 * @example
 * shardedDirectories(env.DIRECTORIES, 4).getByName('acme').list('', 10)
 */
export function shardedDirectories(directories: Objects<DirectoryService>, shards: number): Objects<DirectoryService> {
  if (shards === 1) return directories
  return {
    getByName: (tenant) => {
      const first = directories.getByName(tenant)
      // No tenant's name contains a slash.
      const others = Array.from({ length: shards - 1 }, (_, index) => directories.getByName(`${tenant}/${index + 1}`))
      const lists = listsOf([first, ...others])
      return new Proxy(first, {
        get: (target, name) => {
          const own: unknown = Reflect.get(lists, name)
          if (own !== undefined) return own
          return (...values: unknown[]): unknown => Reflect.apply(Reflect.get(target, name), target, values)
        },
      })
    },
  }
}

type ConversationLists = Pick<DirectoryService, 'add' | 'resize' | 'room' | 'remove' | 'list'>

function listsOf(shards: readonly DirectoryService[]): ConversationLists {
  return {
    add: async (id) => shards[shardOf(id, shards.length)]?.add(id),
    resize: async (id, bytes, until) => {
      const place = shardOf(id, shards.length)
      // Only the shard that lists a conversation counts its size; one that is not listed is counted by its own shard.
      const resizeIn = (shard: DirectoryService, index: number) =>
        until === undefined || index === place ? shard.resize(id, bytes, until) : shard.room(id)
      return sumOf(await Promise.all(shards.map(resizeIn)))
    },
    room: async (id) => {
      const rooms = await Promise.all(shards.map((shard) => shard.room(id)))
      return { ...sumOf(rooms), isListed: rooms.some(({ isListed }) => isListed) }
    },
    remove: async (id) => void (await Promise.all(shards.map((shard) => shard.remove(id)))),
    list: async (after, limit) => {
      const pages = await Promise.all(shards.map((shard) => shard.list(after, limit)))
      return [...new Set(pages.flat())].toSorted((a, b) => (a < b ? -1 : 1)).slice(0, limit)
    },
  }
}

/** Returns the shard of a conversation, by FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) of its id. */
function shardOf(id: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % shards
}

function sumOf(totals: readonly StoredTotals[]): StoredTotals {
  const sum = (name: keyof StoredTotals) => totals.reduce((total, each) => total + each[name], 0)
  return { conversations: sum('conversations'), storedBytes: sum('storedBytes') }
}
