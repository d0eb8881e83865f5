import { isObject, parseJson } from '../../../contract/json.ts'
import type { ModelError } from '../../../contract/model.ts'
import { retryAfterMs } from '../../../contract/retry-after.ts'
import { badResponse, modelError, STREAM_CUT } from '../model-error.ts'
import { explainError, UNEXPLAINED } from '../openai-chat/error.ts'

/** Matches the names of AI SDK errors about a provider's answer; all other errors are about the request. */
const OF_ANSWER = /Parse|TypeValidation|EmptyResponse|InvalidResponse/

/**
 * Converts an error that a provider threw, with its status and whether a retry makes sense, if it says so. Undefined
 * for an error that is not one of the SDK's, such as a connection error.
 */
export function thrownError(error: unknown): ModelError | undefined {
  if (!isObject(error)) return undefined
  const { name, message, statusCode, isRetryable, responseHeaders, responseBody, data } = error
  const text = typeof message === 'string' ? message : UNEXPLAINED.message
  const status = typeof statusCode === 'number' ? statusCode : undefined
  if (status === undefined && isRetryable === undefined) {
    if (typeof name !== 'string' || !name.startsWith('AI_')) return undefined
    if (OF_ANSWER.test(name)) return badResponse('The answer of the model server is malformed.')
    return modelError({ message: text, code: name.includes('APIKey') ? 'api_key' : 'invalid_request' })
  }
  // The answer had begun, and broke off before its first part.
  if (status !== undefined && status < 400) return STREAM_CUT
  const body = typeof responseBody === 'string' ? parseJson(responseBody) : undefined
  const fault = explainError(data) ?? explainError(body) ?? { message: text }
  const wait = isObject(responseHeaders) ? retryAfterMs((name) => responseHeaders[name]) : undefined
  return {
    ...modelError({ ...fault, ...(status !== undefined && { status }) }),
    ...(typeof isRetryable === 'boolean' && { retryable: isRetryable }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** Converts an error that came as a part of a stream. */
export function providerError(error: unknown): ModelError {
  const fault = typeof error === 'string' && error !== '' ? { message: error } : explainError(error)
  return thrownError(error) ?? modelError(fault ?? UNEXPLAINED)
}
