/** Makes `encode` run once for each value, as long as the value lives: a step costs what it added to the request. */
export function encodeOnce<Value extends object, Encoded = string>(
  encode: (value: Value) => Encoded,
): (value: Value) => Encoded {
  const known = new WeakMap<Value, { readonly encoded: Encoded }>()
  return (value) => {
    let entry = known.get(value)
    if (!entry) known.set(value, (entry = { encoded: encode(value) }))
    return entry.encoded
  }
}
