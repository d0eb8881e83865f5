import { globSync, readFileSync } from 'node:fs'
import { ROOT } from './pages.ts'

export interface Source {
  readonly path: string
  readonly text: string
}

/** Returns the source files that can make errors for callers, models or the log. */
export function sources(): Source[] {
  return (
    globSync(['src/**/*.ts', 'tools/mcp/*.ts'], { cwd: ROOT })
      // The settings of applications are words of others.
      .filter((path) => !/^src\/(?:studio\/|cli\/|contract\/applications\.ts$)/.test(path))
      .map((path) => ({ path, text: readFileSync(`${ROOT}${path}`, 'utf8') }))
  )
}

/**
 * Literals that look like error codes and are none: words of formats, states, and members of requests. A new literal in
 * snake case must be in this list, or have a text in src/cli/document/errors.
 */
const NO_CODES = new Set(
  `access_token context_length context_window loaded_context_length max_context_length max_input_tokens max_model_len max_output_tokens n_ctx event_id url_verification not_recorded answer_cut answer_rejected edgecall_approvals edgecall_call_duration_seconds edgecall_call_retries edgecall_calls edgecall_context_reductions edgecall_cost edgecall_first_token_seconds edgecall_held_tools edgecall_limits edgecall_model_duration_seconds edgecall_model_retries edgecall_model_wait_seconds edgecall_open_approvals edgecall_open_runs edgecall_queue_seconds edgecall_recoveries edgecall_room_used edgecall_run_duration_seconds edgecall_run_errors edgecall_runs edgecall_refused_requests edgecall_scheduled edgecall_steps edgecall_tokens
  class_name new_classes new_sqlite_classes nodejs_als nodejs_compat nodejs_compat_v2 script_name
  item_refused already_terminal api_key arguments at authorization_code grant_type refresh_token client_credentials confirm content decision disallow_importable_env insufficient_scope no_nodejs_compat no_nodejs_compat_v2 sign_in sign_in_code awaiting_approval awaiting_caller code content_filter context_length_exceeded exact_optional
  execute_tool also off only run_code suspended failed finish first_seen format hash id issuer insufficient_quota invalid_api_key invalid_request_error invoke_agent json_object loose_object strict_object
  json_schema get_prompt list_prompts list_resources max_completion_tokens max_tokens model module owner partial_check previous_response_id query rate_limit_error rate_limit_exceeded raw_check
  read_resource read_result read_ui resource_link return_direct server_error starting_after string to_lower_case to_upper_case tool_calls
  code_execution file_search input_tokens tool_uses web_fetch number go_ahead server_label web_search frequency_penalty parallel_tool_calls presence_penalty reasoning_effort service_tier top_k top_p
  tool_choice tool_search tools trim_end trim_start untrusted_data confirm content disallow_importable_env max_completion_tokens multiple_of
  max_tokens no_nodejs_compat no_nodejs_compat_v2 sign_in sign_in_code automatic_message invalid_message sender_not_allowed
  sender_not_authenticated too_many_attachments webhook cache_write tenants invalid_token invalid_grant temporarily_unavailable redirect_uri resource_metadata mcp_approval_response mistral_ai moonshot_ai too_many_parts tool_call tool_call_response x_ai ssl_check block_actions plain_text team_id clear_at_least clear_thinking_20251015 cleared_input_tokens thinking_turns honoured`.split(
    /\s+/,
  ),
)

/** What stands for an error code: what `code` is set to or compared with, and the first argument of the functions that make errors. */
const CODE_LINE = /\bcode\b(?=\s*(?:[:=]|[!=]==|\?\?))[^\n;]*/g
const MAKER = /\b(?:failure|refuse|fail|transient)\(\s*'([a-z][a-z0-9_]*)'/g
const SNAKE_CASE = /'([a-z]+(?:_[a-z0-9]+)+)'/g
/** The formats have many words in snake case; there, only those that begin as error codes do count. */
const IN_FORMATS = /'((?:invalid|unsupported|missing|unknown|model)_[a-z_]+)'/g

/** Returns the error codes in the code of a file, with repetitions. */
export function errorCodesOf(path: string, text: string): string[] {
  const code = withoutComments(text)
  const isFormat = path.startsWith('src/wire/client/') || path.startsWith('src/wire/provider/')
  const patterns = [MAKER, isFormat ? IN_FORMATS : SNAKE_CASE]
  const literals = [
    ...[...code.matchAll(CODE_LINE)].flatMap(([line]) => [...line.matchAll(/'([a-z][a-z0-9_]*)'/g)]),
    ...patterns.flatMap((pattern) => [...code.matchAll(pattern)]),
  ]
  return literals.map(([, literal = '']) => literal).filter((literal) => !NO_CODES.has(literal))
}

/** Returns the error codes that are written next to an HTTP status. */
export function httpErrorsOf(text: string): { status: number; code: string }[] {
  const pairs = withoutComments(text).matchAll(/status: (\d{3}),\s*code: '([a-z_]+)'/g)
  return [...pairs].map(([, status, code = '']) => ({ status: Number(status), code }))
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}
