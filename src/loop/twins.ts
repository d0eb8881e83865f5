import type { ToolCall } from '../contract/message.ts'

/** Throws a TypeError where two calls of one answer have one id: nobody could tell which of them is done. */
export function refuseTwins(calls: readonly ToolCall[]): void {
  const ids = calls.map((call) => call.callId)
  const twin = ids.find((id, at) => ids.indexOf(id) < at)
  if (twin !== undefined) throw new TypeError(`Two calls of one answer have the id "${twin}"`)
}
