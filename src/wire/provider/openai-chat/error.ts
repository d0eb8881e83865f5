import { isObject } from '../../../contract/json.ts'
import { textOrJson } from '../../fields.ts'
import type { ProviderFault } from '../model-error.ts'

/** The fault of a failure for which the server gives no reason. */
export const UNEXPLAINED: ProviderFault = { message: 'The model server failed and gave no reason.' }

/**
 * Parses a server's error: OpenAI's `{ error: { message, type, code } }`, the same in an array, a text as `error`, or
 * the `message` or `detail` of other frameworks. Returns undefined if it says nothing.
 */
export function explainError(json: unknown): ProviderFault | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json
  if (!isObject(body)) return undefined
  const error = body.error ?? body
  const { message, detail, code, type, status } = isObject(error) ? error : { message: error }
  const text = textOrJson(message ?? detail)
  const word = [code, type].find((each): each is string => typeof each === 'string' && each !== '')
  const number = [code, status].map(Number).find((each) => each >= 400 && each <= 599)
  if (text === '' && word === undefined && number === undefined) return undefined
  return { message: text || UNEXPLAINED.message, code: word, status: number }
}
