/** Caches what `encode` returns for each object while the object lives, so that a step encodes only what it added. */
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
 * Makes an encoder for lists that grow, such as the messages of a run: it encodes only the items that the last list
 * with the same first item did not have. It caches one text for each list; `encodeOnce` caches one for each item, which
 * costs more than encoding a short item. The encoder returns the JSON of what `toObject` makes of the items, without
 * brackets.
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
