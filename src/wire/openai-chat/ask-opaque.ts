import type { AssistantMessage, Opaque } from '../../contract/message.ts'
import { fieldsOf, objectsOf, textAt } from '../fields.ts'
import type { Fields } from '../model-answer.ts'

/** Pieces of one text; what else a detail says is said once, though perhaps not in its first piece. */
const TEXTS = new Set(['text', 'summary', 'thinking'])

/**
 * Adds what a delta says of its reasoning (`reasoning_details` of OpenRouter, `thinking_blocks` of LiteLLM) to what was said:
 * pieces of one detail are one, and a signature ends it.
 */
export function addDetails(details: Fields[], said: unknown): void {
  for (const detail of objectsOf(said)) {
    const last = details.at(-1)
    if (!last || last.type !== detail.type || last.index !== detail.index || 'data' in detail || last.signature)
      details.push(detail)
    else details[details.length - 1] = join(last, detail)
  }
}

function join(first: Fields, more: Fields): Fields {
  const said = Object.entries(more).filter(([, value]) => value !== null)
  const joined = said.map(([name, value]) => {
    const before = first[name]
    return [name, TEXTS.has(name) && typeof before === 'string' ? before + String(value) : value]
  })
  return { ...first, ...Object.fromEntries(joined) }
}

/** What a server wants back with its answer; `extras` are those of its calls (`extra_content`, Google), by index. */
export function toOpaque(codec: string, details: readonly Fields[], extras: Fields): Opaque | undefined {
  const isNothing = details.length === 0 && Object.keys(extras).length === 0
  return isNothing ? undefined : { codec, data: { details, extras } }
}

/** What was kept of an earlier answer, where this codec kept it: what it says of its reasoning, in its field, and extras. */
export function keptIn(
  { opaque }: AssistantMessage,
  codec: string,
): { reasoning?: object | undefined; extras: Fields } {
  const { details, extras } = opaque?.codec === codec ? fieldsOf(opaque.data) : {}
  const [first] = objectsOf(details)
  const name = /thinking/.test(textAt(first, 'type')) ? 'thinking_blocks' : 'reasoning_details'
  return { reasoning: first && { [name]: details }, extras: fieldsOf(extras) }
}
