/** Returns the `arguments` of a function call as this format sends them: JSON text, `{}` for none. */
export function echoedArguments(value: unknown): string {
  return typeof value === 'string' ? value || '{}' : JSON.stringify(value)
}
