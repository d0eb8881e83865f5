import { isObject } from '../../contract/json.ts'
import type { RunError } from '../../contract/run.ts'
import type { ProviderFault } from '../model-error.ts'
import type { ChatErrorObject } from './types.ts'

/** The error object of a failed run. */
export function runErrorObject({ code, message }: RunError): ChatErrorObject {
  const type = code === 'model_rate_limited' ? 'rate_limit_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}

/**
 * What a server's error says: OpenAI's `{ error: { message, type, code } }`, the same in an array, a bare text, or the
 * `message` and `detail` of other frameworks.
 */
export function explainError(json: unknown): ProviderFault | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json
  if (!isObject(body)) return undefined
  const error = body.error ?? body
  if (typeof error === 'string') return error === '' ? undefined : { message: error }
  if (!isObject(error)) return undefined
  const { message, detail, code, type, status } = error
  const text = message ?? detail
  const said = typeof text === 'string' ? text : text === undefined ? '' : JSON.stringify(text)
  const word = [code, type].find((each) => typeof each === 'string' && each !== '')
  const number = [code, status].find(isStatus)
  if (said === '' && word === undefined && number === undefined) return undefined
  return {
    message: said === '' ? 'The model server failed and did not say why.' : said,
    ...(typeof word === 'string' && { code: word }),
    ...(number !== undefined && { status: number }),
  }
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value <= 599
}
