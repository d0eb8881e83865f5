/** Copies the plain data of an answer over RPC, which comes with functions to release it. */
export function copied<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}
