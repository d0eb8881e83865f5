import { isObject } from '../../../contract/json.ts'
import type { Opaque } from '../../../contract/message.ts'
import { objectsOf } from '../../fields.ts'
import { opaqueDataOf } from '../opaque.ts'

/**
 * A part of an answer. All are kept, in order, because the server wants its reasoning back in its place: a reasoning
 * item as it came, a message as the length of its text and its phase, a call as its index.
 */
export type OutputPart =
  | { readonly reasoning: unknown }
  | { readonly text: number; readonly phase?: unknown }
  | { readonly call: number }

const CODEC = 'openai-responses'

/** Returns the data that must go back with an answer; undefined if it has neither reasoning items nor phases. */
export function responsesOpaque(parts: readonly OutputPart[]): Opaque | undefined {
  return parts.some((part) => 'reasoning' in part || 'phase' in part) ? { codec: CODEC, data: parts } : undefined
}

/** Converts an earlier answer back to items, with its opaque data. Text and calls without a place in it come last. */
export function outputItems(text: string, calls: readonly object[], opaque: Opaque | undefined): readonly object[] {
  const items: object[] = []
  const remainingCalls = new Map(calls.entries())
  let at = 0

  function pushText(end: number, phase?: unknown): void {
    const content = text.slice(at, end)
    at = Math.max(at, end)
    if (content !== '') items.push({ role: 'assistant', content, phase })
  }

  for (const part of objectsOf(opaqueDataOf(CODEC, opaque))) {
    // A caller may have written any other item, such as a reference to another's.
    if (isObject(part.reasoning)) items.push(...(part.reasoning['type'] === 'reasoning' ? [part.reasoning] : []))
    else if (typeof part.text === 'number') pushText(at + part.text, part.phase)
    else if (typeof part.call === 'number') {
      const call = remainingCalls.get(part.call)
      remainingCalls.delete(part.call)
      if (call) items.push(call)
    }
  }
  pushText(text.length)
  items.push(...remainingCalls.values())
  // OpenAI refuses a reasoning item that no other item follows.
  return items.slice(0, 1 + items.findLastIndex((item) => !('summary' in item)))
}
