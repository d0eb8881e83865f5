import type { AssistantMessage, Opaque } from '../../../contract/message.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'

/** The fields of a detail whose text comes in pieces; all others come once, though maybe not with the first piece. */
const TEXTS = new Set(['text', 'summary', 'thinking'])

/**
 * Adds the reasoning details of a delta (`reasoning_details` of OpenRouter, `thinking_blocks` of LiteLLM) to `details`.
 * The pieces of one detail are joined; a signature ends it.
 */
export function addDetails(details: Fields[], value: unknown): void {
  for (const detail of objectsOf(value)) {
    const last = details.at(-1)
    if (!last || last.type !== detail.type || last.index !== detail.index || 'data' in detail || last.signature)
      details.push(detail)
    else details[details.length - 1] = join(last, detail)
  }
}

function join(first: Fields, addition: Fields): Fields {
  const newFields = Object.entries(addition).filter(([, value]) => value !== null)
  const mergedFields = newFields.map(([name, value]) => {
    const before = first[name]
    return [name, TEXTS.has(name) && typeof before === 'string' ? before + String(value) : value]
  })
  return { ...first, ...Object.fromEntries(mergedFields) }
}

/** Returns what a server wants back with its answer. `extras`: `extra_content` of its calls (Google), by call index. */
export function chatOpaque(codec: string, details: readonly Fields[], extras: Fields): Opaque | undefined {
  const isNothing = details.length === 0 && Object.keys(extras).length === 0
  return isNothing ? undefined : { codec, data: { details, extras } }
}

/** Returns what `codec` kept of an earlier answer: its reasoning details, under the field they came in, and extras. */
export function opaqueFieldsOf(
  { opaque }: AssistantMessage,
  codec: string,
): { reasoning?: object | undefined; extras: Fields } {
  if (opaque?.codec !== codec) return { extras: {} }
  const { details: storedDetails, extras } = fieldsOf(opaque.data)
  // A caller may have written details of any other type, such as another's file.
  const details = objectsOf(storedDetails).filter((detail) =>
    /^(redacted_)?thinking$|^reasoning\./.test(textAt(detail, 'type')),
  )
  const [first] = details
  const name = /thinking/.test(textAt(first, 'type')) ? 'thinking_blocks' : 'reasoning_details'
  return { reasoning: first && { [name]: details }, extras: fieldsOf(extras) }
}
