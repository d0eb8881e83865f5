import type { ChatErrorObject } from '../../provider/openai-chat/types.ts'

/** OpenAI's codes for ours. Codes that are not listed are the same. */
const OPENAI_CODES: Readonly<Record<string, string>> = {
  unauthorized: 'invalid_api_key',
  key_expired: 'invalid_api_key',
  key_disabled: 'invalid_api_key',
  unknown_model: 'model_not_found',
  model_context_exceeded: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
  model_rate_limited: 'rate_limit_exceeded',
  budget_exhausted: 'insufficient_quota',
  model_quota_exceeded: 'insufficient_quota',
}

export interface ErrorDetails {
  readonly code: string
  readonly message: string
  readonly param?: string | undefined
  /** Default, for an error within a stream: 500. */
  readonly status?: number
}

/**
 * Makes the error object of OpenAI's API, with its codes and types, which programs compare. If its code is not ours,
 * ours is added as `edgecall`.
 */
export function openAiErrorObject({ code, message, param, status = 500 }: ErrorDetails): ChatErrorObject {
  const openAiCode = OPENAI_CODES[code] ?? code
  return {
    error: {
      message,
      type: typeOf(openAiCode, status),
      param: param ?? null,
      code: openAiCode,
      ...(openAiCode !== code && { edgecall: code }),
    },
  }
}

function typeOf(code: string, status: number): string {
  if (code === 'insufficient_quota') return code
  if (code === 'rate_limit_exceeded' || status === 429) return 'rate_limit_error'
  // 424: the provider refused the edge's key, which is not an error of the caller.
  return status < 500 && status !== 424 ? 'invalid_request_error' : 'server_error'
}
