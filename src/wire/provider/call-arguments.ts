import { isObject, parseShallow } from '../../contract/json.ts'

/** Returns the arguments of an earlier call as an object, since servers take nothing else: other values are wrapped. */
export function argumentsObject(text: string): Readonly<Record<string, unknown>> {
  const value = parseShallow(text.trim() || '{}')
  return isObject(value) ? value : { unreadable: text }
}

/** Returns the same as JSON text: if the text is an object already, it stays as the model wrote it. */
export function argumentsText(text: string): string {
  return isObject(parseShallow(text)) ? text : JSON.stringify(argumentsObject(text))
}

/**
 * Makes the tool's name, or the id, of an earlier call valid: servers refuse a history with a name of invalid form. A
 * call that named no tool is given one.
 */
export function calledName(tool: string): string {
  return tool.replace(/[^\w-]/g, '_').slice(0, 64) || 'unnamed'
}
