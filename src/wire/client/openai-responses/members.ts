import type { Handling } from '../members.ts'

/** What `POST /v1/responses` and `POST /v1/responses/input_tokens` do with each member of the vendor's request. */
export const RESPONSES_MEMBERS = {
  model: 'honoured',
  input: 'honoured',
  instructions: 'honoured',
  tools: 'honoured',
  tool_choice: 'honoured',
  previous_response_id: 'honoured',
  conversation: 'honoured',
  store: 'honoured',
  stream: 'honoured',
  background: 'honoured',
  include: 'honoured',
  max_tool_calls: 'honoured',
  // Returned with the response, and not stored.
  metadata: 'honoured',
  edgecall: 'honoured',
  // Its format is honoured.
  text: 'forwarded',
  // Its summary and context are for models of the vendor.
  reasoning: 'forwarded',
  temperature: 'forwarded',
  top_p: 'forwarded',
  max_output_tokens: 'forwarded',
  parallel_tool_calls: 'forwarded',
  service_tier: 'forwarded',
  access_programs: 'ignored',
  client_metadata: 'telemetry',
  context_management: 'ignored',
  image: 'ignored',
  moderation: 'ignored',
  prompt_cache_key: 'vendor',
  prompt_cache_options: 'vendor',
  prompt_cache_retention: 'vendor',
  safety_identifier: 'telemetry',
  stream_options: 'ignored',
  user: 'telemetry',
  prompt: 'refused',
  top_logprobs: 'refused',
  // `auto` is what the edge does.
  truncation: 'refused',
} as const satisfies Readonly<Record<string, Handling>>
