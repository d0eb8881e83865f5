import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { textOfThrown } from '../contract/thrown.ts'

/**
 * The error a tool throws to tell the model what went wrong and what to change, such as “No city of that name; give
 * the country too.” Its message is read by the model: no secrets, no stack. A `fatal` error fails the run instead.
 */
export class ToolError extends Error {
  readonly code: string
  readonly retryable: boolean | undefined
  readonly fatal: boolean | undefined

  constructor(message: string, options: { code?: string; retryable?: boolean; fatal?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ToolError'
    this.code = options.code ?? 'tool_error'
    this.retryable = options.retryable
    this.fatal = options.fatal
  }
}

/** Returns the outcome of a call that threw. The text of any error but a ToolError is for operators alone. */
export function toFailure(name: string, error: unknown): ToolFailure {
  if (error instanceof ToolError) {
    const { code, message, retryable, fatal, cause } = error
    return {
      ok: false,
      error: {
        code,
        message,
        ...(cause !== undefined && { detail: textOfThrown(cause) }),
        ...(retryable !== undefined && { retryable }),
        ...(fatal !== undefined && { fatal }),
      },
    }
  }
  const detail = textOfThrown(error)
  console.error(`tool "${name}" threw`, detail)
  return failure('tool_failed', `The tool "${name}" failed.`, detail)
}
