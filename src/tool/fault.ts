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

type Issues = readonly v.BaseIssue<unknown>[]

const MOST_ISSUES = 8

/** What is wrong with the arguments, a line each: where, what was expected, what came. Written for the model. */
export function describeIssues(tool: string, issues: Issues): string {
  const lines = issues.slice(0, MOST_ISSUES).map((issue) => {
    const path = v.getDotPath(issue) ?? 'arguments'
    return issue.expected === null
      ? `- ${path}: ${issue.message} (received ${issue.received})`
      : `- ${path}: expected ${issue.expected}, received ${issue.received}`
  })
  if (issues.length > MOST_ISSUES) lines.push(`- and ${issues.length - MOST_ISSUES} more`)
  return `The arguments of "${tool}" do not fit:\n${lines.join('\n')}\nCorrect them and call again.`
}
