import { type ErrorTexts, errorText } from './error-text.ts'

/** Why a decision model has not judged a call or a result: in `code` of a judgement. */
export const JUDGEMENT_ERRORS: ErrorTexts = {
  model_failed: errorText('The decision model threw an error.', 'Correct the `DecisionModel` that the edge was given.'),
  no_decision_model: errorText(
    'The edge has no decision model any more, and the run began when it had one.',
    'None is needed.',
  ),
  no_user_text: errorText('No message of this run was written by a user.', 'None is needed.'),
  question_too_long: errorText(
    'The messages of the user or the arguments have more than 8,000 characters, or a result more than 66,000.',
    'None is needed.',
  ),
}

/** Errors of tool calls: in `error` of `call.settled` and of `POST /tools/{name}/call`. The model reads the message. */
export const CALL_ERRORS: ErrorTexts = {
  agent_failed: errorText(
    'The run of an agent that was called as a tool failed, could not be started, or is gone.',
    'Read the message; often the agent has no model.',
  ),
  agent_too_deep: errorText(
    'Agents called one another more levels deep than allowed.',
    'Give the inner agents fewer tools.',
  ),
  too_many_agents: errorText(
    'A run has called agents more than 100 times.',
    'Give the agents more to do in each call, or lower `limits.callsPerTool`.',
  ),
  approval_needs_conversation: errorText(
    'The call needs approval, and the run has no conversation.',
    'Use a conversation, or `/mcp` of an edge with an `OUTCOME_SECRET`.',
  ),
  bad_outcome: errorText(
    'A tool Worker returned a value that is not an outcome.',
    'Use `serveTools`, or correct the Worker.',
  ),
  caller_needs_conversation: errorText(
    'A program called a tool that the caller runs itself, and the run is not stored, so the program cannot wait.',
    'Use a conversation.',
  ),
  cancelled: errorText(
    'The run was cancelled or ended while the call ran.',
    'None is needed. The call may have taken effect.',
  ),
  cannot_undo: errorText('The tool has no `undo`.', 'Give the tool an `undo`, or do not use `compensate` with it.'),
  code_unavailable: errorText('`run_code` was called outside of a run.', 'Let a model call it in a run.'),
  expired: errorText('The caller of the run, which performs the tool, sent no result in time.', 'Send results sooner.'),
  in_doubt: errorText(
    'An earlier attempt with the same key was cut off, so `once` does not repeat it. Whether it took effect is unknown.',
    'Look at the service whether the call took effect, then decide.',
  ),
  invalid_arguments: errorText(
    'The arguments do not fit the schema. The model is told the path and the reason, and can correct them.',
    'If it happens often, describe the fields better or simplify the schema.',
  ),
  invalid_output: errorText(
    'The result does not fit the tool’s output schema. The tool ran; the model is told the path and the reason.',
    'Correct the tool or its schema. `checkOutput: false` and `CHECK_OUTPUTS` switch the check off.',
  ),
  input_required: errorText(
    'The tool asks for input from a person or a client, and this API has no way to ask them.',
    'Call it in a conversation, or over `/mcp` with a client that declares the capability and a key with `approve`.',
  ),
  invalid_input: errorText(
    'The tool does not accept the answers or the state that the caller sent for its requests for input.',
    'Send the state unchanged, and answers of the requested kind.',
  ),
  no_outcome: errorText(
    'The tool answered that its result comes later, and the result did not arrive in the time that the tool asked for.',
    'Use a longer `within` in the tool, or find out why nothing was reported. The call may have taken effect.',
  ),
  later: errorText(
    'The tool answered that its result comes later, but the call has no conversation or the edge has no way to receive the result.',
    'Use a conversation; see [Tools that answer later](later.md).',
  ),
  limit: errorText('A limit of the run was reached before the call.', 'Raise the limit that the message names.'),
  no_more_tools: errorText(
    'A limit was reached, so the model was asked for a final answer, and it called a tool again.',
    'Raise the limit.',
  ),
  program_diverged: errorText(
    'A program that was run again after an interruption did not ask for the same calls, and those before may have taken effect; or a call that it no longer asked for was not run.',
    'Look at the calls that the message names. It should not happen: report it with the code of the program.',
  ),
  program_failed: errorText(
    'A program threw an error that it did not catch, returned what is not JSON, or was stopped by the runtime. The model is told the line.',
    'None is needed if the model corrects it.',
  ),
  program_hung: errorText(
    'A program waits, and nothing that it waits for is open.',
    'None is needed if the model corrects it.',
  ),
  program_too_slow: errorText(
    'A program computed for more than 10 s without waiting for a call.',
    'Let tools do the work, or less of it.',
  ),
  outcome_unknown: errorText(
    'The edge stopped while the call ran. It was not sent again, because the tool is not idempotent.',
    'Give the tool a `status` function, or mark it idempotent; see [Conversations](conversations.md#after-a-crash).',
  ),
  rejected: errorText(
    'A person rejected the call, or nobody decided in time (`MAX_WAIT_MS`, by default 24 hours).',
    'None is needed: the model reads the reason.',
  ),
  poll_failed: errorText(
    'A tool that answers later could not be polled. This code is only in the log.',
    'Correct its `poll`; the edge polls again.',
  ),
  repeated_call: errorText(
    'The model made the same call more often than `MAX_SAME_CALLS` allows, or a third time in a row after two equal results.',
    'Let the tool’s result say what to do next.',
  ),
  result_not_kept: errorText(
    'An earlier attempt took effect, but its result was too large to be stored for this one.',
    'Return a smaller result.',
  ),
  result_withheld: errorText(
    'A [decision model](decisions.md#results-that-give-orders) takes the untrusted result for an attack, or could not tell.',
    'Read the result in the events of the run. The log has what the model said.',
  ),
  schema_mismatch: errorText(
    'The tool has changed since the model saw it.',
    'None is needed: the edge reads its definition again.',
  ),
  timeout: errorText(
    'The tool did not answer within `CALL_TIMEOUT_MS` or its own `timeoutMs`.',
    'Make the tool faster, or raise the limit. The call may have taken effect.',
  ),
  tool_changed: errorText(
    'The tool has changed since the model saw it, and the arguments may not fit the new definition. It was not called. ' +
      'As an HTTP status (409): the hash to accept is not the current one.',
    'Start a new run. To accept a tool, read its current hash first.',
  ),
  tool_error: errorText('The tool threw a `ToolError` without a code of its own.', 'Its message says what to change.'),
  tool_failed: errorText(
    'The tool threw an error that is not a `ToolError`.',
    'Look for the error in the logs of the edge and of the tool Worker.',
  ),
  tool_lost: errorText(
    'The Worker of the tool was lost, stopped by the platform or overloaded during the call.',
    'Look for its reason in the log. The call may have taken effect.',
  ),
  tool_misconfigured: errorText('A stored tool lacks a secret or a host.', 'Set it; the log names it.'),
  tool_not_allowed: errorText(
    'The key that started the run may not call the tool any more. It was not called, and its outcome is not read.',
    'Start a new run with a key that may, or give the key back its scopes.',
  ),
  runs_at_provider: errorText(
    'The provider of a model runs this tool itself, within an answer.',
    'Offer it to a model (`tools`) in place of calling it.',
  ),
  tool_paused: errorText(
    'The tool timed out, was lost or was overloaded too often in a row (`TOOL_BREAKER_FAILURES`), or what it calls asks to wait.',
    'Repair the tool; it is called again after the pause.',
  ),
  tool_unavailable: errorText(
    'The tool is no longer bound, or its Worker does not answer.',
    'See `available` and `reason` in `GET /tools`.',
  ),
  not_undone: errorText('Some calls of an agent could not be undone.', 'Undo them by hand; the message names them.'),
  tool_unreachable: errorText('The Worker of the tool could not be reached.', 'Check that it is deployed and bound.'),
  undone: errorText(
    'The call was undone, because a later call of the run failed.',
    'None is needed: the run has `compensate`.',
  ),
  unknown_result: errorText(
    '`read_result` was called with an id that does not exist.',
    'None is needed: the model is told.',
  ),
  unknown_tool: errorText(
    'There is no such tool, or this caller may not use it. As an HTTP status: 404, or 400 for `tools`, `tool_choice` and `limits.tools`.',
    'See `GET /tools`. The model is told similar names.',
  ),
  unserialisable: errorText('The tool returned a value that JSON cannot write.', 'Return plain data or `content(…)`.'),
}

/** Errors of stored tools and of MCP servers. */
export const SOURCE_ERRORS: ErrorTexts = {
  'http_<status>': errorText(
    'The API answered with this status; for 404 the code is `http_404`.',
    'Read the message: it has the text of the answer.',
  ),
  http_unreachable: errorText('The API could not be reached.', 'Check its host.'),
  mcp_error: errorText('An MCP server answered the call with an error.', 'Look in the log of that server.'),
  mcp_not_connected: errorText(
    'Nobody is signed in to the MCP server.',
    'Sign in: `POST /connections/{server}`; see [MCP](mcp.md#servers-with-oauth).',
  ),
  mcp_held_back: errorText(
    'The MCP server names an authorization server that nobody has accepted. Its tools are not called.',
    'Look at `heldBack` in `GET /connections`; see [MCP](mcp.md#servers-with-oauth).',
  ),
  mcp_refused: errorText('An MCP server refused the arguments.', 'Read the message: it is the server’s.'),
  resource_not_allowed: errorText(
    'A resource or prompt was asked for that the operator has not selected.',
    'Add a pattern to `resources` or `prompts` of the server in `MCP_SERVERS`.',
  ),
  mcp_timeout: errorText(
    'An MCP server did not answer in time.',
    'Raise its `timeoutMs`. The call may have taken effect.',
  ),
  mcp_unavailable: errorText('An MCP server could not be reached, or refused the edge.', 'Check its URL and its key.'),
  result_missing: errorText('The result has no part at the pointer of `http.result`.', 'Correct the pointer.'),
  result_not_json: errorText('The answer of the API is not JSON.', 'Use `"result": "text"`.'),
  result_too_large: errorText('The result is larger than that of a stored tool may be.', 'Request less from the API.'),
  result_unusable: errorText(
    'The result is JSON that the edge cannot read, for example nested too deeply.',
    'Correct the API or the code.',
  ),
  unsupported_content: errorText(
    'The answer of the API is neither JSON nor text.',
    'Write a tool Worker that calls the API.',
  ),
}

/** Codes that only the log has. */
export const LOG_ERRORS: ErrorTexts = {
  observer_failed: errorText('A function of `observe` threw an error. The run continues.', 'Correct the function.'),
  status_failed: errorText(
    'A tool’s `status` threw an error after a crash.',
    'Correct it. The call ends with `outcome_unknown`.',
  ),
}
