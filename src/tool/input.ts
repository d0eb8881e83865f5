import { isObject } from '../contract/json.ts'
import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

export type ParsedArguments = { readonly ok: true; readonly value: Readonly<Record<string, unknown>> } | ToolFailure

/** The arguments that a model wrote, as an object. Nothing at all stands for no arguments; text is never repaired. */
export function parseArguments(tool: string, text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return { ok: true, value }
    return refusal(tool, `received ${Array.isArray(value) ? 'an array' : JSON.stringify(value)}`)
  } catch (error) {
    return refusal(tool, error instanceof Error ? error.message : String(error))
  }
}

function refusal(tool: string, reason: string): ToolFailure {
  return failure(
    'invalid_arguments',
    `The arguments of "${tool}" are not a JSON object: ${reason}. Send one JSON object that fits its schema.`,
  )
}
