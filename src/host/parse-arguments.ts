import { isDeeper, isObject, MOST_LEVELS, parseJson } from '../contract/json.ts'
import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { parseExactly } from '../schema/exact-numbers.ts'
import { mendJson } from '../schema/mend-json.ts'

export type ParsedArguments = { readonly ok: true; readonly value: Readonly<Record<string, unknown>> } | ToolFailure

/**
 * Parses the arguments that a model wrote into an object. An empty text, `null` and `""` stand for no arguments, and an
 * object may come as a string of JSON. An object in a code fence, after prose, or with the marks of Python or JavaScript is
 * mended (`mendJson`); a text that was cut off never is. A number that JavaScript cannot hold, such as
 * an integer beyond 2^53 that it would round, is kept as its text: a tool made with `defineTool` converts it as its
 * schema asks, and any other tool sees a string, never a different number.
 */
export function parseArguments(tool: string, text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    const value = parseBounded(text)
    const parsed = value === null || value === '' ? {} : unwrapText(value)
    if (isObject(parsed)) return { ok: true, value: parsed }
    return refusal(tool, `received ${Array.isArray(value) ? 'an array' : JSON.stringify(value)}`)
  } catch (error) {
    return refusal(tool, error instanceof Error ? error.message : String(error))
  }
}

/** Parses a string that holds a JSON object; returns any other value as it is. */
function unwrapText(value: unknown): unknown {
  return typeof value === 'string' && value.trim().startsWith('{') ? parseBounded(value) : value
}

function parseBounded(text: string): unknown {
  // `parseExactly` and `mendJson` recurse, unlike the engine's parser.
  if (isDeeper(parseJson(text), MOST_LEVELS)) throw new RangeError(`nested over ${MOST_LEVELS} levels deep`)
  try {
    return parseExactly(text)
  } catch (error) {
    const mended = mendJson(text)
    if (mended === undefined) throw error
    return mended
  }
}

function refusal(tool: string, reason: string): ToolFailure {
  return failure(
    'invalid_arguments',
    `The arguments of "${tool}" are not a JSON object: ${reason}. Send one JSON object that fits its schema.`,
  )
}
