import { INPUT_REQUIRED, type InputNeeds, type InputRequest } from '../contract/input.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { textOfThrown } from '../contract/thrown.ts'

/**
 * The error a tool throws to tell the model what went wrong and what to change, such as “No city of that name; give
 * the country too.” Its message is read by the model: no secrets, no stack. A `fatal` error fails the run instead. A Durable
 * Object of the tool may throw it too.
 */
export class ToolError extends Error {
  readonly code: string
  readonly retryable: boolean | undefined
  readonly fatal: boolean | undefined
  readonly input: InputNeeds | undefined

  constructor(
    message: string,
    options: { code?: string; retryable?: boolean; fatal?: boolean; cause?: unknown; input?: InputNeeds } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ToolError'
    this.code = options.code ?? 'tool_error'
    this.retryable = options.retryable
    this.fatal = options.fatal
    this.input = options.input
  }
}

/**
 * The error a tool throws when it needs something of a person, such as a confirmation. In a conversation the run waits
 * for the answer; an MCP client is asked. Then the tool is called again, with the answers in `context.input`. Elsewhere
 * the model is told that nobody can be asked.
 *
 * @example
 * const { confirm } = context.input?.responses ?? {}
 * if (!confirm) throw new InputRequired({ confirm: form('Delete all 12 files?', { type: 'object', properties: {} }) })
 */
export class InputRequired extends ToolError {
  constructor(requests: InputNeeds['requests'], state?: string) {
    const input = { requests, state }
    super('This tool needs input from a person, who cannot be asked here. Trying again will not help.', {
      code: INPUT_REQUIRED,
      input,
    })
  }
}

/**
 * Makes a request for a form that a person fills in. The schema is an object of plain values. Follows the elicitation
 * of MCP 2025-11-25, in the mode `form`.
 *
 * @example
 * form('Delete all 12 files?', { type: 'object', properties: {} })
 */
export function form(message: string, requestedSchema: JsonObject): InputRequest {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/**
 * Makes a request for a page that a person opens, such as to sign in. `elicitationId` identifies it among others.
 * Follows the elicitation of MCP 2025-11-25, in the mode `url`.
 *
 * @example
 * page('Sign in to GitHub', 'https://example.com/sign-in?state=7f3a', '7f3a')
 */
export function page(message: string, url: string, elicitationId: string): InputRequest {
  return { method: 'elicitation/create', params: { mode: 'url', message, url, elicitationId } }
}

/**
 * Returns whether an error is a ToolError. One that a Durable Object or another Worker has thrown comes over RPC without
 * its class, as an Error with the same properties.
 */
export function isToolError(error: unknown): error is ToolError {
  return error instanceof ToolError || (error instanceof Error && error.name === 'ToolError' && 'code' in error)
}

/** Returns the outcome of a call that threw. The text of any error but a ToolError is for operators alone. */
export function toFailure(name: string, error: unknown): ToolFailure {
  if (isToolError(error)) {
    const { code, message, retryable, fatal, cause, input } = error
    return {
      ok: false,
      error: {
        code,
        message,
        ...(cause !== undefined && { detail: textOfThrown(cause) }),
        retryable,
        fatal,
      },
      input,
    }
  }
  const detail = textOfThrown(error)
  console.error(`tool "${name}" threw`, detail)
  return failure('tool_failed', `The tool "${name}" failed.`, detail)
}
