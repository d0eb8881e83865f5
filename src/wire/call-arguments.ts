import { isObject, parseShallow } from '../contract/json.ts'

/** The arguments of an earlier call as an object, which is all that servers take: what is none is wrapped in one. */
export function argumentsObject(text: string): Readonly<Record<string, unknown>> {
  const value = parseShallow(text.trim() || '{}')
  return isObject(value) ? value : { unreadable: text }
}

/** The same as JSON text; where it was right, as the model wrote it. */
export function argumentsText(text: string): string {
  return isObject(parseShallow(text)) ? text : JSON.stringify(argumentsObject(text))
}

/** The name, or the id, of an earlier call as servers take it: they refuse a history with one that no tool could have. */
export function calledName(tool: string): string {
  return tool.replace(/[^\w-]/g, '_').slice(0, 64)
}
