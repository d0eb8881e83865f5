import type { ModelError } from '../contract/model.ts'
import { brief } from './brief.ts'

/** What a provider said about a failure, in whatever form it said it. */
export interface ProviderFault {
  readonly message: string
  /** The provider's own word for it, such as `rate_limit_exceeded`. */
  readonly code?: string | undefined
  /** HTTP status, of the response or as named in a stream. */
  readonly status?: number | undefined
}

const MOST_MESSAGE = 1000

const CODES: Readonly<Record<number, string>> = {
  401: 'model_unauthorized',
  403: 'model_unauthorized',
  404: 'model_not_found',
  408: 'model_unavailable',
  409: 'model_unavailable',
  429: 'model_rate_limited',
}

/** The code of a refusal of tools as such. */
export const WITHOUT_TOOLS = 'model_without_tools'

/** How servers say that a model knows no tools: Ollama and DeepSeek; OpenRouter; Groq; vLLM. */
const NO_TOOLS =
  /(?:not|n't) support\S*(?: \S+)? (?:tools?|functions?)\b|support tool use|(?:tool|function)s?(?: call\w*)?\W+(?:is|are) not supported|enable-auto-tool-choice/i

/** What a model has garbled Groq answers as a bad request; the next try may be better. */
const GARBLED = /(tool_use|json_validate)_failed/

/** Some answer as if there were no such model. */
const REFUSED = /refused_request|not_found/

/** A provider's failure as ours: the status decides, and where there is none, the provider's own code. */
export function modelError({ message, code = '', status }: ProviderFault): ModelError {
  const known = codeOf(GARBLED.test(code) ? 500 : (status ?? statusOf(code)))
  const kind = REFUSED.test(known) && NO_TOOLS.test(message) ? WITHOUT_TOOLS : known
  return {
    code: kind,
    // What is said of a wrong key may hold a part of it.
    message:
      kind === 'model_unauthorized' ? 'The model provider refused the key of the edge.' : brief(message, MOST_MESSAGE),
    ...(status !== undefined && { status }),
    retryable: /rate_limited|unavailable/.test(kind) && code !== 'insufficient_quota',
  }
}

/** A failure that no provider told of, and that may be gone at the next try. */
export function transient(code: string, message: string): ModelError {
  return { code, message, retryable: true }
}

/** The stream ended before the model had. */
export const STREAM_CUT = transient('model_stream_cut', "The model's answer was cut off.")

/** The answer is not of the format. `what` is a sentence. */
export function badResponse(what: string): ModelError {
  return transient('model_bad_response', what)
}

/** No call can be made of this. */
export const NAMELESS = badResponse('The model asked for a tool without a name.')

/** The answer is none. */
export const NOTHING = badResponse('The model server answered nothing.')

function codeOf(status: number): string {
  if (status < 400) return 'model_bad_response'
  return CODES[status] ?? (status < 500 ? 'model_refused_request' : 'model_unavailable')
}

/** The status that a provider's word stands for; an unknown word is a fault on its side. */
function statusOf(code: string): number {
  if (/rate_?limit|quota|too_many/i.test(code)) return 429
  if (/auth|api_key|permission/i.test(code)) return 401
  if (/not_found/i.test(code)) return 404
  if (/invalid|context_length|too_large|unsupported|policy|image_/i.test(code)) return 400
  return 500
}
