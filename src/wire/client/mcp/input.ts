import type { CallInput, InputNeeds, InputRequest } from '../../../contract/input.ts'
import { isObject, type JsonObject } from '../../../contract/json.ts'
import { fieldsOf } from '../../fields.ts'
import { type McpFault, missingCapability } from './message.ts'

/** Reads the answers that a repeated `tools/call` brings (SEP-2322), with what it says to be the state of the question. */
export function readInput({ inputResponses, requestState }: JsonObject): CallInput {
  const responses = Object.entries(fieldsOf(inputResponses)).flatMap(([key, value]) =>
    isObject(value) ? [[key, value] as const] : [],
  )
  return {
    responses: Object.fromEntries(responses),
    ...(typeof requestState === 'string' && { state: requestState }),
  }
}

/** What a client is asked for. */
export interface InputRequiredResult {
  readonly resultType: 'input_required'
  readonly inputRequests: Readonly<Record<string, InputRequest>>
}

/**
 * Asks the client for the input that a call needs, as far as the client's capabilities allow; an error if they allow
 * none of it.
 */
export function toInputRequired(
  { requests }: Pick<InputNeeds, 'requests'>,
  capabilities: unknown,
): InputRequiredResult | McpFault {
  const entries = Object.entries(requests ?? {}).filter(([, request]) => typeof request?.method === 'string')
  const servable = entries.filter(([, { method }]) => capabilityOf(method) in fieldsOf(capabilities))
  if (entries.length > 0 && servable.length === 0) {
    return missingCapability(Object.fromEntries(entries.map(([, { method }]) => [capabilityOf(method), {}])))
  }
  return { resultType: 'input_required', inputRequests: Object.fromEntries(servable) }
}

/** Whether a request asks a person, and not the client or its model. */
export function isElicitation({ method }: InputRequest): boolean {
  return capabilityOf(method) === 'elicitation'
}

/** Returns the client capability that a method needs: the part of its name before the slash. */
function capabilityOf(method: string): string {
  return method.split('/', 1)[0] ?? method
}
