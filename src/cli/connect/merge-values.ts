import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../contract/json.ts'

/** Returns a value with another one in it, members are added or replaced, and items of arrays found as `indexOfSame` says. */
export function mergeValues(old: unknown, added: unknown): unknown {
  if (isObject(old) && isObject(added)) {
    const members = Object.entries(added).map(([name, value]) => [name, mergeValues(old[name], value)])
    return { ...old, ...Object.fromEntries(members) }
  }
  if (!Array.isArray(old) || !Array.isArray(added)) return added
  const items: unknown[] = [...old]
  for (const item of added) {
    const at = indexOfSame(items, item)
    if (at < 0) items.push(item)
    else items[at] = mergeValues(items[at], item)
  }
  return items
}

/** Returns where a list has the item, by its `id` or `name` if it has one; -1 if it has not. */
export function indexOfSame(items: readonly unknown[], item: unknown): number {
  const idOf = (value: unknown): unknown => (isObject(value) ? (value['id'] ?? value['name']) : value)
  const id = idOf(item)
  return items.findIndex((each) => (id === undefined ? isDeepStrictEqual(each, item) : idOf(each) === id))
}
