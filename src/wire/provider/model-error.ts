import { CONTEXT_EXCEEDED, type ModelError, type Overflow } from '../../contract/model.ts'
import { brief } from '../fields.ts'
import { readItemRefusal } from './refused-item.ts'

/** What a provider said about a failure, whatever the format in which it did. */
export interface ProviderFault {
  readonly message: string
  /** The provider's own code for it, such as `rate_limit_exceeded`. */
  readonly code?: string | undefined
  /** The part of the request that it is about, such as `input[2].content[0]`. */
  readonly path?: string | undefined
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

/** Matches the code of an overload. In a stream it comes without a status: that is Anthropic's. */
const OVERLOAD = /overloaded/i

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
export function modelError({
  message,
  code = '',
  path,
  status = OVERLOAD.test(code) ? 529 : undefined,
}: ProviderFault): ModelError {
  const overflow = readOverflow(message, code, status)
  const baseCode = knownCode(code) ?? codeOf(GARBLED.test(code) ? 500 : (status ?? statusOf(code)))
  const kind = overflow
    ? CONTEXT_EXCEEDED
    : REFUSED_CODES.test(baseCode) && NO_TOOLS.test(message)
      ? WITHOUT_TOOLS
      : baseCode
  const item = REFUSED_CODES.test(kind) ? readItemRefusal({ message, code, path }) : undefined
  return {
    code: kind,
    // A message about a wrong key may contain a part of it.
    message:
      kind === 'model_unauthorized' ? 'The model provider refused the key of the edge.' : brief(message, MOST_MESSAGE),
    ...(status !== undefined && { status }),
    retryable: /rate_limited|unavailable/.test(kind),
    overflow,
    ...(item && { item }),
  }
}

/** Makes an error that no provider reported and that a retry may cure. */
export function transient(code: string, message: string): ModelError {
  return { code, message, retryable: true }
}

/** The error of a server that does not answer. */
export const UNREACHABLE = transient('model_unreachable', 'The model server cannot be reached.')

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

/**
 * How servers say that a request is longer than the context window of their model, in the order in which they are tried.
 * Groups: `limit`, the window in tokens; `req`, the tokens of the request; `inp` and `out`, the tokens of the prompt and
 * the room for the answer. Figures are read only from patterns whose unit is tokens.
 */
const OVERFLOWS: readonly RegExp[] = [
  // Anthropic.
  /prompt is too long: (?<req>\d+) tokens > (?<limit>\d+)/i,
  /exceed context limit:\s*(?<inp>\d+) \+ (?<out>\d+) > (?<limit>\d+)/i,
  // OpenAI, Azure, DeepSeek, OpenRouter, older vLLM.
  /context length is (?<limit>\d+) tokens[.,] ?(?:however, )?(?:your messages resulted in|you requested(?: about)?) (?<req>\d+) tokens/i,
  // vLLM, Workers AI. `lower`: vLLM stops counting at the limit, so the figure is less than the prompt.
  /context length is (?<limit>\d+) tokens\. However, you requested (?<out>\d+) output tokens and your prompt contains (?<lower>at least )?(?<inp>\d+) (?<unit>\w+)/i,
  /context length of (?<limit>\d+) tokens\. You requested a total of (?<req>\d+) tokens: (?<inp>\d+) tokens from the input messages and (?<out>\d+)/i,
  // Workers AI.
  /input and maximum output tokens \((?<req>\d+)\) exceeded this model context window limit \((?<limit>\d+)\)/i,
  // Azure.
  /configured limit of (?<limit>\d+) tokens\. your messages resulted in (?<req>\d+)/i,
  // OpenAI's Responses API.
  /exceeds the context window of this model/i,
  // Gemini.
  /input token count(?: \((?<req>\d+)\))? exceeds the maximum number of tokens allowed \(?(?<limit>\d+)/i,
  // xAI.
  /prompt length is (?<limit>\d+) but the request contains (?<req>\d+)/i,
  // Mistral.
  /prompt contains (?<req>\d+) tokens.*model with (?<limit>\d+) maximum context/i,
  // Groq, Cerebras.
  /reduce the length of the messages or completion\.?(?: current length is (?<req>\d+) while limit is (?<limit>\d+))?/i,
  // llama.cpp.
  /request(?: \((?<req>\d+) tokens\))? exceeds the available context size(?: \((?<limit>\d+) tokens\))?/i,
  // Ollama.
  /longer than the context length currently|input length exceeds the context length|prompt too long; exceeded (?:max )?context/i,
  // LM Studio.
  /keep the first (?<req>\d+) tokens when context.*length of only (?<limit>\d+)/i,
  /initial prompt is greater than the context length|context size has been exceeded|reached context length of \d+/i,
  // Together, text-generation-inference.
  /`inputs` tokens \+ `max_new_tokens` must be <= (?<limit>\d+)|input(?: \((?<req>\d+) tokens\))? is longer than the model'?s context length/i,
  // Bedrock.
  /input is too long for requested model|too many total text bytes|number of input tokens exceeds maximum length/i,
  // SGLang and others.
  /prompt is too long: (?<req>\d+), model maximum context length: (?<limit>\d+)/i,
]

/** Groq's refusal of a request that is larger than its tokens per minute: waiting never helps, a shorter prompt does. */
const LARGER_THAN_RATE = /request too large .*\(TPM\): Limit (?<limit>\d+), Requested (?<req>\d+)/i

/** Matches limits of rate, of the answer or of one field, whose words resemble those above. */
const LOOK_ALIKES =
  /rate limit|too many tokens, please wait|per (?:min|minute|day|60s)\b|\bTPD\b|extra usage is required|at most \d+ completion tokens|max_tokens must be less|string_above_max_length/i

/** The providers' own codes for a prompt that is too long. `3051` is Mistral's. */
const OVERFLOW_CODES = /^(?:context_length_exceeded|exceed_context_size_error|request_too_large|3051)$/

/**
 * Returns what a provider's refusal says of its context window; undefined if the refusal is about something else. A
 * status of 413 counts, as servers answer with it where they say nothing more.
 */
export function readOverflow(message: string, code = '', status?: number): Overflow | undefined {
  const tooLargeForRate = LARGER_THAN_RATE.exec(message)
  if (tooLargeForRate) return readFigures(tooLargeForRate.groups)
  if (LOOK_ALIKES.test(message)) return undefined
  for (const pattern of OVERFLOWS) {
    const match = pattern.exec(message)
    if (match) return readFigures(match.groups)
  }
  return OVERFLOW_CODES.test(code) || status === 413 ? {} : undefined
}

function readFigures({
  limit,
  req,
  inp,
  out,
  lower,
  unit = 'tokens',
}: Record<string, string | undefined> = {}): Overflow {
  const contextTokens = positive(limit)
  // Characters, or a count that ended at the limit, say nothing about the size of the prompt.
  const isSize = lower === undefined && /^(?:input|tokens?)$/i.test(unit)
  const sum = inp !== undefined && out !== undefined ? Number(inp) + Number(out) : undefined
  const requestTokens = isSize ? (positive(req) ?? sum) : undefined
  return {
    contextTokens,
    requestTokens,
  }
}

function positive(digits: string | undefined): number | undefined {
  const value = Number(digits)
  return Number.isSafeInteger(value) && value > 0 ? value : undefined
}
