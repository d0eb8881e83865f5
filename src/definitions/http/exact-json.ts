import { mayHaveLong } from '../../contract/exact-numbers.ts'
import { partAt } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { ToolFailure, ToolRequest } from '../../contract/tool.ts'
import { fittingArguments, nearestNumbers } from '../../schema/validate.ts'

/** Makes a value that `JSON.stringify` writes as these digits. TypeScript does not know the function yet. */
const rawJson: (digits: string) => unknown = Reflect.get(JSON, 'rawJSON')

/** A number with more digits than JavaScript holds, which a request has as it was written. */
export class LongNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toJSON(): unknown {
    return rawJson(this.digits)
  }
}

/**
 * Returns arguments that fit, as `fittingArguments` does. An HTTP request needs no JavaScript number, so digits that one
 * cannot hold are a `LongNumber` where the schema takes a number; its limits are compared with the nearest number.
 */
export function fittingExactly(
  definition: Pick<ToolDefinition, 'name' | 'inputSchema'>,
  args: ToolRequest['arguments'],
): { readonly ok: true; readonly value: ToolRequest['arguments'] } | ToolFailure {
  const fitting = fittingArguments(definition, args)
  if (fitting.ok) return fitting
  const { value, places } = nearestNumbers(definition.inputSchema, args)
  const nearest = places.length > 0 ? fittingArguments(definition, Object(value)) : fitting
  if (!nearest.ok) return fitting
  const copy = structuredClone(nearest.value)
  for (const { keys, digits } of places) {
    const parent = Object(partAt(copy, keys.slice(0, -1)))
    const last = keys.at(-1) ?? ''
    // Mending may have moved it.
    if (parent[last] !== Number(digits)) return fitting
    parent[last] = new LongNumber(digits)
  }
  return { ok: true, value: copy }
}

/** Matches a number that JavaScript may write otherwise: with a zero at the end, or a sign before zero. */
const OTHERWISE = /\d\.\d*0(?=[\s,\]}]|$)|-0/

/** Whether a JSON text may have a number that JavaScript would write otherwise, by a quick look. */
export function mayDiffer(text: string): boolean {
  return mayHaveLong(text) || OTHERWISE.test(text)
}

/**
 * Returns the part of a JSON text at these keys as compact JSON, with each number as it is written there: `10.50` keeps
 * its zero, and a long number its digits.
 */
export function compactPart(text: string, keys: readonly string[]): string {
  const exact: unknown = JSON.parse(text, (_key, each: unknown, context?: { readonly source?: string }) =>
    typeof each === 'number' && context?.source !== undefined && context.source !== String(each)
      ? rawJson(context.source)
      : each,
  )
  return JSON.stringify(partAt(exact, keys))
}
