import type { Content } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

/** Parts of a result, as `content(…)` marks them. */
class Parts {
  readonly parts: readonly Content[]

  constructor(parts: readonly Content[]) {
    this.parts = parts
  }
}

/** A result in parts, such as a text and an image: `return content({ type: 'image', mediaType, data })`. */
export function content(...parts: Content[]): unknown {
  return new Parts(parts)
}

/**
 * What a tool's return value is to a model: nothing is `Success`, a string stays as it is, anything else is compact
 * JSON. Maps become objects, sets arrays, dates ISO text, bigints decimal text. A value with no JSON form (a function,
 * a symbol, a cycle) is the failure `unserialisable`.
 */
export function toOutcome(value: unknown): ToolOutcome {
  if (value === undefined || value === null) return text('Success')
  if (typeof value === 'string') return text(value)
  if (value instanceof Parts) return { ok: true, content: value.parts }
  try {
    const json = JSON.stringify(value, toJson)
    return { ok: true, content: [{ type: 'text', text: json }], structured: JSON.parse(json) }
  } catch (error) {
    return failure(
      'unserialisable',
      'The tool returned a value that cannot be written as JSON.',
      error instanceof Error ? error.message : String(error),
    )
  }
}

function text(text: string): ToolOutcome {
  return { ok: true, content: [{ type: 'text', text }] }
}

function toJson(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`a ${typeof value} at ${key === '' ? 'the root' : `"${key}"`}`)
  }
  return value
}
