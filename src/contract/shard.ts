/**
 * Returns the number of the object that lists a conversation, or a run without one, out of the objects of its tenant's
 * directory. The first, 0, has the budgets, so others list if there are any. By FNV-1a
 * (http://www.isthe.com/chongo/tech/comp/fnv/) of the id.
 */
export function shardOf(id: string, objects: number): number {
  if (objects === 1) return 0
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return 1 + ((hash >>> 0) % (objects - 1))
}
