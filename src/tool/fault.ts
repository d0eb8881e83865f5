import * as v from 'valibot'

/**
 * The error a tool throws to tell the model what went wrong and what to change, such as “No city of that name; give
 * the country too.” Its message is read by the model: no secrets, no stack.
 */
export class ToolError extends Error {
  readonly code: string
  readonly retryable: boolean | undefined

  constructor(message: string, options: { code?: string; retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ToolError'
    this.code = options.code ?? 'tool_error'
    this.retryable = options.retryable
  }
}

/** Where something is wrong, empty for the whole, and what, such as `expected string, received 5`. */
interface Issue {
  readonly path: string
  readonly message: string
}

/** Valibot's issue in these words. A message that begins with “expected” is a schema's own, and says it all. */
export function toIssue(issue: v.BaseIssue<unknown>): Issue {
  const { expected, received, message } = issue
  const path = v.getDotPath(issue) ?? ''
  if (message.startsWith('expected')) return { path, message }
  const words = expected === null ? `${message} (received ${received})` : `expected ${expected}, received ${received}`
  return { path, message: words }
}

const MOST_ISSUES = 8

/** What is wrong with the arguments, a line each. Written for the model. */
export function describeIssues(tool: string, issues: readonly Issue[]): string {
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, message }) => `- ${path || 'arguments'}: ${message}`)
  if (issues.length > MOST_ISSUES) lines.push(`- and ${issues.length - MOST_ISSUES} more`)
  return `The arguments of "${tool}" do not fit:\n${lines.join('\n')}\nCorrect them and call again.`
}

const MOST_SHOWN = 60

/** A value as such a message shows it: what it is, texts cut short. */
export function received(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > MOST_SHOWN ? `${JSON.stringify(value.slice(0, MOST_SHOWN))}…` : JSON.stringify(value)
  }
  if (Array.isArray(value)) return 'Array'
  return typeof value === 'object' && value !== null ? 'Object' : String(value)
}
