import { isObject } from '../../contract/json.ts'
import type { Opaque } from '../../contract/message.ts'
import { objectsOf } from '../fields.ts'
import { keptBy } from '../kept.ts'

/**
 * What an answer consisted of, in order, for the server wants its reasoning back in its place: a reasoning item as it
 * came; a message by the length of its text, with its phase; a call by its index.
 */
export type OutputPart =
  | { readonly reasoning: unknown }
  | { readonly text: number; readonly phase?: unknown }
  | { readonly call: number }

const CODEC = 'openai-responses'

/** What must come back with an answer, or undefined where the answer itself says it all. */
export function toOpaque(parts: readonly OutputPart[]): Opaque | undefined {
  return parts.some((part) => 'reasoning' in part || 'phase' in part) ? { codec: CODEC, data: parts } : undefined
}

/** An earlier answer as items again, with what was kept of it. What `opaque` does not know of comes after the rest. */
export function outputItems(text: string, calls: readonly object[], opaque: Opaque | undefined): readonly object[] {
  const items: object[] = []
  const open = new Map(calls.entries())
  let at = 0

  function tell(end: number, phase?: unknown): void {
    const content = text.slice(at, end)
    at = Math.max(at, end)
    if (content !== '') items.push({ role: 'assistant', content, phase })
  }

  for (const part of objectsOf(keptBy(CODEC, opaque))) {
    if (isObject(part.reasoning)) items.push(part.reasoning)
    else if (typeof part.text === 'number') tell(at + part.text, part.phase)
    else if (typeof part.call === 'number') {
      const call = open.get(part.call)
      open.delete(part.call)
      if (call) items.push(call)
    }
  }
  tell(text.length)
  items.push(...open.values())
  // OpenAI refuses reasoning that nothing follows.
  return items.slice(0, 1 + items.findLastIndex((item) => !('summary' in item)))
}
