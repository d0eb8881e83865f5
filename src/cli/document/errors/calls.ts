import { type ErrorTexts, errorText } from './error-text.ts'

/** Errors of tool calls: in `error` of `call.settled` and of `POST /tools/{name}/call`. The model reads the message. */
export const CALL_ERRORS: ErrorTexts = {
  agent_failed: errorText('An agent’s own run failed.', 'Read the message; often the agent has no model.'),
  agent_too_deep: errorText('Agents called agents more than the allowed depth.', 'Give the inner agents fewer tools.'),
  approval_needs_conversation: errorText(
    'The call needs approval, and the run has no conversation.',
    'Use a conversation.',
  ),
  bad_outcome: errorText(
    'A tool Worker answered something that is not an outcome.',
    'Use `serveTools`, or correct the Worker.',
  ),
  cancelled: errorText(
    'The run was cancelled or ended while the call ran.',
    'Nothing. The call may have taken effect.',
  ),
  cannot_undo: errorText('The tool has no `undo`.', 'Add one, or do not use `compensate` for it.'),
  expired: errorText('The caller sent no result in time.', 'Send results sooner.'),
  in_doubt: errorText(
    'The call was cut off before, so `once` does not repeat it. Whether it took effect is unknown.',
    'Find out at the service, then decide.',
  ),
  invalid_arguments: errorText(
    'The arguments do not fit the schema. The model is told the path and the reason, and can correct them.',
    'If it happens often, describe the fields better or simplify the schema.',
  ),
  invalid_output: errorText(
    'The result does not fit the tool’s output schema. The call was made; the model is told the path and the reason.',
    'Correct the tool or its schema. `checkOutput: false` and `CHECK_OUTPUTS` switch the check off.',
  ),
  input_required: errorText(
    'The call needs input from a person or a client, who cannot be asked on this surface.',
    'Call it in a conversation, or over `/mcp` with a client that declares the capability.',
  ),
  invalid_input: errorText(
    'The tool does not accept the answers, or the state, that came back for its requests.',
    'Send the state as it came, and answers of the kind that was asked for.',
  ),
  no_outcome: errorText(
    'The tool answered that its result comes later, and none came in the time that it had asked for.',
    'Give it a longer `within`, or find out why nothing was reported. The call may have taken effect.',
  ),
  later: errorText(
    'The tool answered that its result comes later, and the call is outside a conversation or cannot be reported on.',
    'Use a conversation; see [Tools that answer later](later.md).',
  ),
  limit: errorText('A limit of the run was reached before the call.', 'Raise `MAX_CALLS` or `MAX_CALLS_PER_TOOL`.'),
  no_more_tools: errorText('The model asked for a tool in its last answer, after a limit.', 'Raise the limit.'),
  outcome_unknown: errorText(
    'The edge stopped while the call ran. It was not sent again, because the tool is not idempotent.',
    'Give the tool a `status`, or mark it idempotent; see [Conversations](conversations.md#after-a-crash).',
  ),
  rejected: errorText('A person rejected the call.', 'Nothing: the decision stands.'),
  poll_failed: errorText(
    'A tool that answers later could not be polled. In the log only.',
    'Correct its `poll`; it is asked again.',
  ),
  repeated_call: errorText(
    'The model made the same call more often than `MAX_SAME_CALLS`.',
    'Let the result tell the model what to do next.',
  ),
  result_not_kept: errorText('The call took effect before, but its result was too large to be stored.', 'Return less.'),
  schema_mismatch: errorText(
    'The tool has changed since the model saw it.',
    'Nothing: the edge reads its definition again.',
  ),
  timeout: errorText(
    'The tool did not answer within `CALL_TIMEOUT_MS` or its own `timeoutMs`.',
    'Make the tool faster, or raise the limit. The call may have taken effect.',
  ),
  tool_changed: errorText(
    'The tool has changed in a way that its earlier arguments may not fit. It was not called. As an HTTP answer (409): ' +
      'the hash to accept is not the current one.',
    'Ask again. To accept a tool, read its current hash first.',
  ),
  tool_error: errorText('The tool threw a `ToolError` without a code of its own.', 'Its message says what to change.'),
  tool_failed: errorText(
    'The tool threw an error that is no `ToolError`.',
    'The error is in the log and in the Worker’s.',
  ),
  tool_misconfigured: errorText('A stored tool lacks a secret or a host.', 'Set it: the log names it.'),
  tool_paused: errorText(
    'The tool failed too often in a row (`TOOL_BREAKER_FAILURES`).',
    'Repair the tool, then wait until the pause is over.',
  ),
  tool_unavailable: errorText(
    'The tool is no longer bound, or its Worker does not answer.',
    'See `available` in `GET /tools`.',
  ),
  not_undone: errorText('Calls of an agent could not be undone.', 'The message names them.'),
  tool_unreachable: errorText('The Worker of the tool could not be reached.', 'Check that it is deployed and bound.'),
  undone: errorText('The call was undone, because a later call of the run failed.', 'Nothing: `compensate` was on.'),
  unknown_result: errorText('`read_result` was called with an id that does not exist.', 'Nothing: the model is told.'),
  unknown_tool: errorText(
    'There is no such tool, or it is not on offer to this caller. As an HTTP answer: 404, or 400 for `tool_choice`.',
    'See `GET /tools`. Models are told names that are similar.',
  ),
  unserialisable: errorText('The tool returned a value that JSON cannot write.', 'Return plain data or `content(…)`.'),
}

/** Errors of stored tools and of MCP servers. */
export const SOURCE_ERRORS: ErrorTexts = {
  'http_<status>': errorText('The API answered with this status, such as `http_404`.', 'The message has its text.'),
  http_unreachable: errorText('The API could not be reached.', 'Check its host.'),
  mcp_error: errorText('An MCP server failed at the call.', 'Look in its log.'),
  mcp_not_connected: errorText(
    'Nobody is signed in to the MCP server.',
    'Sign in: `POST /connections/{server}`; see [MCP](mcp.md#servers-with-oauth).',
  ),
  mcp_refused: errorText('An MCP server refused the arguments.', 'The message is the server’s.'),
  resource_not_allowed: errorText(
    'The model asked for a resource that the operator has not selected.',
    'Add a pattern to `resources` of the server in `MCP_SERVERS`.',
  ),
  mcp_timeout: errorText('An MCP server took too long.', 'Nothing. The call may have taken effect.'),
  mcp_unavailable: errorText('An MCP server could not be reached, or refused the edge.', 'Check its URL and its key.'),
  result_missing: errorText('The result has no part at the pointer of `http.result`.', 'Correct the pointer.'),
  result_not_json: errorText('The API announced JSON and sent something else.', 'Use `"result": "text"`.'),
  result_too_large: errorText('The result is larger than a stored tool may answer.', 'Ask the API for less.'),
  result_unusable: errorText('The result has JSON that cannot be used.', 'Correct the API or the code.'),
  unsupported_content: errorText('The API answered neither JSON nor text.', 'Write a tool Worker for it.'),
}

/** Codes that only the log has. */
export const LOG_ERRORS: ErrorTexts = {
  observer_failed: errorText('A function of `observe` threw an error. The run continues.', 'Correct the function.'),
  status_failed: errorText(
    'A tool’s `status` threw an error after a crash.',
    'Correct it: the call counts as unknown.',
  ),
}
