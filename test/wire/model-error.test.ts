import { expect, test } from 'vitest'
import { modelError } from '../../src/wire/provider/model-error.ts'

test.each([
  [400, 'model_refused_request', false],
  [401, 'model_unauthorized', false],
  [402, 'model_quota_exceeded', false],
  [403, 'model_unauthorized', false],
  [404, 'model_not_found', false],
  [408, 'model_unavailable', true],
  [409, 'model_unavailable', true],
  [413, 'model_context_exceeded', false],
  [422, 'model_refused_request', false],
  [429, 'model_rate_limited', true],
  [500, 'model_unavailable', true],
  [529, 'model_unavailable', true],
  [304, 'model_bad_response', false],
])('status %i is %s, retryable: %s', (status, code, retryable) => {
  expect(modelError({ message: 'm', status })).toMatchObject({ code, retryable, status })
})

test.each([
  ['rate_limit_exceeded', 'model_rate_limited', true],
  ['insufficient_quota', 'model_quota_exceeded', false],
  ['invalid_api_key', 'model_unauthorized', false],
  ['model_not_found', 'model_not_found', false],
  ['context_length_exceeded', 'model_context_exceeded', false],
  ['server_error', 'model_unavailable', true],
  [undefined, 'model_unavailable', true],
])('without a status, the code %s is %s, retryable: %s', (word, code, retryable) => {
  const error = modelError({ message: 'm', ...(word !== undefined && { code: word }) })
  const message = code === 'model_unauthorized' ? 'The model provider refused the key of the edge.' : 'm'
  expect(error).toEqual({ code, message, retryable, ...(code === 'model_context_exceeded' && { overflow: {} }) })
})

test('an answer that the model garbled is retryable, even if its server reports a bad request', () => {
  const errors = ['tool_use_failed', 'json_validate_failed'].map((code) =>
    modelError({ message: "Failed to call a function. See 'failed_generation'.", code, status: 400 }),
  )
  expect(errors.map(({ code, retryable }) => [code, retryable])).toEqual([
    ['model_unavailable', true],
    ['model_unavailable', true],
  ])
})

test('an exhausted quota is not retryable, whatever the status', () => {
  expect(modelError({ message: 'Pay.', code: 'insufficient_quota', status: 429 })).toEqual({
    code: 'model_quota_exceeded',
    message: 'Pay.',
    status: 429,
    retryable: false,
  })
})

test('keys are redacted from messages, and messages are truncated', () => {
  expect(modelError({ message: 'Incorrect API key: sk-12***89', status: 401 }).message).not.toContain('sk-')
  expect(modelError({ message: 'x'.repeat(5000), status: 400 }).message).toHaveLength(1001)
})

test.each([
  [400, 'registry.ollama.ai/library/gemma3:4b does not support tools', true],
  [400, 'deepseek-reasoner does not support Function Calling', true],
  [400, "This model doesn't support the tools parameter.", true],
  [404, 'No endpoints found that support tool use. To learn more …', true],
  [400, '`tool calling` is not supported with this model', true],
  [400, 'Tools are not supported in streaming mode.', true],
  [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', true],
  [400, 'This model does not support tool_choice "required".', false],
  [400, 'tools[0].function.parameters: "oneOf" is not supported', false],
  [400, 'This model does not support images.', false],
  [500, 'the server does not support tools', false],
])('status %i with "%s" means missing tool support: %s', (status, message, isSo) => {
  expect(modelError({ message, status }).code === 'model_without_tools').toBe(isSo)
})
