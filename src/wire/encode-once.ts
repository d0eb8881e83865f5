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
