import { CONTEXT_EXCEEDED, type ModelError } from '../../contract/model.ts'
import { brief } from '../brief.ts'
import { overflowOf } from './overflow.ts'

/** What a provider said about a failure, whatever the format in which it did. */
export interface ProviderFault {
  readonly message: string
  /** The provider's own code for it, such as `rate_limit_exceeded`. */
  readonly code?: string | undefined
  /** The HTTP status of the response, or the one that a stream names. */
  readonly status?: number | undefined
}

const MOST_MESSAGE = 1000

const CODES: Readonly<Record<number, string>> = {
  401: 'model_unauthorized',
  402: 'model_quota_exceeded',
  403: 'model_unauthorized',
  404: 'model_not_found',
  408: 'model_unavailable',
  409: 'model_unavailable',
  429: 'model_rate_limited',
}

/** The error code of a model that cannot call tools. */
export const WITHOUT_TOOLS = 'model_without_tools'

/** Matches how servers say that a model cannot call tools: Ollama and DeepSeek; OpenRouter; Groq; vLLM. */
const NO_TOOLS =
  /(?:not|n't) support\S*(?: \S+)? (?:tools?|functions?)\b|support tool use|(?:tool|function)s?(?: call\w*)?\W+(?:is|are) not supported|enable-auto-tool-choice/i

/** Matches the codes of Groq's “bad request” for invalid output of the model itself; a retry may succeed. */
const GARBLED = /(tool_use|json_validate)_failed/

/** Matches the provider's codes for a quota that is used up, whatever the status: a retry would not help. */
const NO_QUOTA = /insufficient_(?:quota|balance)|billing_hard_limit/

/** Matches the codes that a refusal of tools can have: some servers answer as if the model did not exist. */
const REFUSED_CODES = /refused_request|not_found/

/** Converts a provider's fault to an error: the status decides its code; without a status, the provider's own code. */
export function modelError({ message, code = '', status }: ProviderFault): ModelError {
  const overflow = overflowOf(message, code, status)
  const baseCode = knownCode(code) ?? codeOf(GARBLED.test(code) ? 500 : (status ?? statusOf(code)))
  const kind = overflow
    ? CONTEXT_EXCEEDED
    : REFUSED_CODES.test(baseCode) && NO_TOOLS.test(message)
      ? WITHOUT_TOOLS
      : baseCode
  return {
    code: kind,
    // A message about a wrong key may contain a part of it.
    message:
      kind === 'model_unauthorized' ? 'The model provider refused the key of the edge.' : brief(message, MOST_MESSAGE),
    ...(status !== undefined && { status }),
    retryable: /rate_limited|unavailable/.test(kind),
    ...(overflow && { overflow }),
  }
}

/** Makes an error that no provider reported and that a retry may cure. */
export function transient(code: string, message: string): ModelError {
  return { code, message, retryable: true }
}

/** The error code of a model that was silent for too long. */
export const TIMED_OUT = 'model_timeout'

/** The error of a stream that ended before the model did. */
export const STREAM_CUT = transient('model_stream_cut', "The model's answer was cut off.")

/** Makes the error of an answer that does not fit its format. `what` is a sentence. */
export function badResponse(message: string): ModelError {
  return transient('model_bad_response', message)
}

/** The error of an empty answer. */
export const NOTHING = badResponse('The model server sent an empty answer.')

/** Returns the error code for a provider's code that says more than the status. */
function knownCode(code: string): string | undefined {
  return NO_QUOTA.test(code) ? 'model_quota_exceeded' : undefined
}

function codeOf(status: number): string {
  if (status < 400) return 'model_bad_response'
  return CODES[status] ?? (status < 500 ? 'model_refused_request' : 'model_unavailable')
}

/** Returns the status that a provider's code stands for; an unknown code counts as a fault of the provider. */
function statusOf(code: string): number {
  if (/rate_?limit|quota|too_many/i.test(code)) return 429
  if (/auth|api_key|permission/i.test(code)) return 401
  if (/not_found/i.test(code)) return 404
  if (/invalid|context_length|too_large|unsupported|policy|image_/i.test(code)) return 400
  return 500
}
