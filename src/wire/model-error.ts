import type { ModelError } from '../contract/model.ts'

/** What a provider said about a failure, in whatever form it said it. */
export interface ProviderFault {
  readonly message: string
  /** The provider's own word for it, such as `rate_limit_exceeded`. */
  readonly code?: string
  /** HTTP status, of the response or as named in a stream. */
  readonly status?: number
}

const MOST_MESSAGE = 1000

/** A provider's failure as ours: the status decides, and where there is none, the provider's own code. */
export function modelError({ message, code = '', status }: ProviderFault): ModelError {
  const kind = kindOf(status ?? statusOf(code))
  return {
    code: kind.code,
    // What is said of a wrong key may hold a part of it.
    message:
      kind.code === 'model_unauthorized' ? 'The model provider refused the credentials of the edge.' : brief(message),
    ...(status !== undefined && { status }),
    retryable: kind.retryable && code !== 'insufficient_quota',
  }
}

/** The stream ended before the model had. */
export function streamCut(): ModelError {
  return { code: 'model_stream_cut', message: "The model's answer was cut off before its end.", retryable: true }
}

/** The answer is not of the format. `what` begins a sentence. */
export function badResponse(what: string): ModelError {
  return { code: 'model_bad_response', message: brief(what), retryable: true }
}

function kindOf(status: number): { code: string; retryable: boolean } {
  if (status === 401 || status === 403) return { code: 'model_unauthorized', retryable: false }
  if (status === 404) return { code: 'model_not_found', retryable: false }
  if (status === 429) return { code: 'model_rate_limited', retryable: true }
  if (status === 408 || status === 409 || status >= 500) return { code: 'model_unavailable', retryable: true }
  if (status >= 400) return { code: 'model_refused_request', retryable: false }
  return { code: 'model_bad_response', retryable: false }
}

/** The status that a provider's word stands for; an unknown word is a fault on its side. */
function statusOf(code: string): number {
  if (/rate_?limit|quota|too_many/i.test(code)) return 429
  if (/auth|api_key|permission/i.test(code)) return 401
  if (/not_found/i.test(code)) return 404
  if (/invalid|context_length|too_large|unsupported/i.test(code)) return 400
  return 500
}

function brief(message: string): string {
  return message.length > MOST_MESSAGE ? `${message.slice(0, MOST_MESSAGE)}…` : message
}
