import type { ToolCall } from '../../contract/message.ts'

/** Throws a TypeError if two calls of one answer have the same id: their results could not be told apart. */
export function refuseDuplicateIds(calls: readonly ToolCall[]): void {
  const ids = calls.map((call) => call.callId)
  const duplicate = ids.find((id, index) => ids.indexOf(id) < index)
  if (duplicate !== undefined) throw new TypeError(`Two calls of one answer have the id "${duplicate}"`)
}
