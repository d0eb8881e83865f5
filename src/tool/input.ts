import { depthOf, isObject, MOST_LEVELS } from '../contract/json.ts'
import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { parseExactly } from './exact.ts'

export type ParsedArguments = { readonly ok: true; readonly value: Readonly<Record<string, unknown>> } | ToolFailure

/**
 * The arguments that a model wrote, as an object. Nothing at all stands for no arguments, also as `null` or `""`, and an
 * object may come as the JSON text of one; text is never repaired. A number that JavaScript cannot hold, such as an
 * integer beyond 2^53 that it would round, is kept as its text: a tool of ours makes of it what its schema asks for, and
 * elsewhere it is seen to be no number, and is never another one.
 */
export function parseArguments(tool: string, text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    const value = parseWithin(text)
    const meant = value === null || value === '' ? {} : inner(value)
    if (isObject(meant)) return { ok: true, value: meant }
    return refusal(tool, `received ${Array.isArray(value) ? 'an array' : JSON.stringify(value)}`)
  } catch (error) {
    return refusal(tool, error instanceof Error ? error.message : String(error))
  }
}

/** What is written inside of a text that stands for an object. */
function inner(value: unknown): unknown {
  return typeof value === 'string' && value.trim().startsWith('{') ? parseWithin(value) : value
}

function parseWithin(text: string): unknown {
  if (depthOf(text) > MOST_LEVELS) throw new RangeError(`nested over ${MOST_LEVELS} levels deep`)
  return parseExactly(text)
}

function refusal(tool: string, reason: string): ToolFailure {
  return failure(
    'invalid_arguments',
    `The arguments of "${tool}" are not a JSON object: ${reason}. Send one JSON object that fits its schema.`,
  )
}
