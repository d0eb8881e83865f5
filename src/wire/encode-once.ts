/** Makes `encode` run once for each value, as long as the value lives: a step costs what it added to the request. */
export function encodeOnce<Value extends object, Encoded = string>(
  encode: (value: Value) => Encoded,
): (value: Value) => Encoded {
  const cache = new WeakMap<Value, { readonly text: Encoded }>()
  return (value) => {
    let entry = cache.get(value)
    if (!entry) cache.set(value, (entry = { text: encode(value) }))
    return entry.text
  }
}

/**
 * Makes an encoder of lists that encodes only the items by which a list is longer than the last list with the same first
 * item. For lists that grow, such as the messages of a run: it remembers one text a list, where `encodeOnce` remembers
 * one an item, which costs more than to encode a short one. Returns the inside of a JSON list of what `toObject` makes.
 */
export function encodeGrowing<Item extends object>(
  toObject: (item: Item) => object,
): (items: readonly Item[]) => string {
  const cache = new WeakMap<Item, { readonly items: readonly Item[]; readonly text: string }>()
  const encode = (items: readonly Item[]) => JSON.stringify(items.map(toObject)).slice(1, -1)
  return (items) => {
    const [first] = items
    if (!first) return ''
    const entry = cache.get(first)
    const prefix = entry?.items.every((item, at) => item === items[at]) ? entry : undefined
    if (prefix?.items.length === items.length) return prefix.text
    const text = prefix ? `${prefix.text},${encode(items.slice(prefix.items.length))}` : encode(items)
    cache.set(first, { items, text })
    return text
  }
}
