import { type ErrorTexts, http, errorText } from './error-text.ts'

/** Errors of the edge and of the caller’s key. */
export const ACCESS_ERRORS: ErrorTexts = {
  auth_not_configured: http(
    503,
    '`AUTH` is `keys`, and neither `API_KEYS` nor `IDENTITY_PROVIDERS` is set.',
    'Set `API_KEYS`; see [Deploy](deploy.md).',
  ),
  auth_open_not_local: http(
    403,
    '`AUTH` is `open`, and the request came to an address that is not a loopback address.',
    'Remove `AUTH` and set `API_KEYS`.',
  ),
  budget_exhausted: http(
    429,
    'The key has used up the tokens or the cost of its budget, or runs under way have all that is left.',
    'Wait for the next period (`Retry-After`), or raise the `budget` of the key.',
  ),
  budget_unavailable: http(
    503,
    'The object that counts the usage of the tenant’s keys does not answer.',
    'Send the request again after `Retry-After`.',
  ),
  cross_site: http(
    403,
    'A page of another site sent the request with the cookie of the identity provider.',
    'Call from the same site, or send the token in the `Authorization` header.',
  ),
  identity_unavailable: http(
    503,
    'The public keys of the identity provider could not be fetched.',
    'Try again; check the `issuer` and `jwks` of `IDENTITY_PROVIDERS`.',
  ),
  sign_in_failed: http(
    422,
    'A sign-in to the MCP server could not be started: the server is unknown, or it failed.',
    'Read the message. Check `oauth` and `MCP_CALLBACK_URL` of the Worker `tools/mcp`.',
  ),
  issuer_not_accepted: http(
    409,
    'The MCP server names an authorization server that nobody has accepted.',
    'If credentials may go there, send its `issuer`; see [MCP](mcp.md#servers-with-oauth).',
  ),
  unknown_connection: http(404, 'There is no connection with this name and owner.', 'See `GET /connections`.'),
  internal_error: http(
    500,
    'The edge failed. This is a defect.',
    'Look for `edge.failed` in the log: it has the path and the stack.',
  ),
  key_disabled: http(
    401,
    'The key is stored as disabled, or its id is in the `disabled` list of the KV namespace `KEYS`.',
    'Use another key, or enable this one.',
  ),
  key_exists: http(409, 'A key with this id is stored, or is in `API_KEYS`.', 'Give the key another id.'),
  key_expired: http(401, 'The `expires` date of the key has passed.', 'Use another key.'),
  keys_not_stored: http(503, 'The edge has no KV namespace `KEYS`.', 'Bind one; see [Deploy](deploy.md#stored-keys).'),
  tools_unavailable: http(
    503,
    'The stored tools could not be read from the KV namespace `TOOLS`, and no index of them is in memory. Or the request removes or limits a tool by a name that only a tool Worker may have which cannot be described now.',
    'Try again after `Retry-After`. Requests that name only tools of other Workers succeed meanwhile.',
  ),
  keys_unavailable: http(
    503,
    'The KV namespace `KEYS`, or `GRANTS` of sign-ins, could not be reached.',
    'Try again after `Retry-After`.',
  ),
  misconfigured: http(
    503,
    'A variable or a binding of the edge is missing or cannot be read. The message names it.',
    'Correct it; [Configuration](configuration.md) lists all variables.',
  ),
  missing_scope: http(
    403,
    'The key lacks the scope that the message names.',
    'Use a key with that scope; see [Security](security.md#keys-and-scopes).',
  ),
  no_tenant: http(
    403,
    'The token of the identity provider names no tenant.',
    'Correct the `tenant` claim of the token or of `IDENTITY_PROVIDERS`.',
  ),
  origin_refused: http(403, 'A page called `/mcp` from an origin that is not allowed.', 'Add it to `CORS_ORIGINS`.'),
  quota_exceeded: http(
    429,
    'The tenant or the key has used up a quota; the answer has `quota`, `used` and `limit`. The status is 507 for quotas of stored data.',
    'Wait until current requests end, delete stored data, or raise the quota; `GET /usage` shows all quotas.',
  ),
  rate_limited: http(
    429,
    'The key has sent more requests than its `rate` allows; an address more than 300 without a key in a minute; or a tool too many reports on a call.',
    'Wait for `Retry-After`, or raise the limit of the rate limit binding. Report progress less often.',
  ),
  too_many_unknown: http(
    429,
    'Within one minute, the key asked for 100 conversations or runs that do not exist.',
    'Check the ids that your program sends.',
  ),
  unauthorized: http(401, 'The request has no valid key or token.', 'Send `Authorization: Bearer <key>`.'),
}

/** Errors of a request: its route, its body and what it names. */
export const REQUEST_ERRORS: ErrorTexts = {
  arguments_changed: http(
    409,
    'A decision names an `argumentsHash`, and the call has other arguments.',
    'Read the call again, then decide.',
  ),
  bad_event_id: http(
    400,
    '`Last-Event-ID` or `?after=` does not name an event of this run.',
    'Read the stream from the beginning.',
  ),
  input_too_long: http(
    400,
    'The input, with the instructions and the tools, is longer than the context window of the model; the message has the figures, in tokens.',
    'Send less, in parts, offer fewer tools, or name a model with a larger window.',
  ),
  body_too_large: http(
    413,
    'The body is larger than `MAX_BODY_BYTES`, or a report on a call than 256 KiB.',
    'Send less, or raise the variable. Larger outcomes can be reported over a service binding.',
  ),
  conversation_exists: http(
    409,
    'A fork or a copy names an id that another conversation has.',
    'Choose another id, or send none.',
  ),
  conversation_restoring: http(
    409,
    'Parts are missing of the copy from which the conversation is being restored.',
    'Send the others, or delete the conversation.',
  ),
  conversation_changed: http(
    409,
    'The conversation of a copy that continues was replaced, rewound, or had a turn replaced.',
    'Begin the copy again.',
  ),
  copy_out_of_order: http(
    409,
    'A part of a copy does not follow the last one.',
    'Send the part after the one that the detail names.',
  ),
  copy_too_large: http(
    413,
    'A copy of more than 30 MiB is asked for while a new version is being deployed.',
    'Send the request again.',
  ),
  invalid_copy: http(
    422,
    'The copy is damaged, incomplete, of a newer version of the edge, or not signed and has values that no request may have. Nothing of this part was stored.',
    'Make a new copy. The detail names the row.',
  ),
  no_recovery: http(
    501,
    'The platform has no state of the conversation from that time. `edgecall dev` stores no earlier states.',
    'Name a time within the last 30 days.',
  ),
  invalid_conversation_id: http(400, 'The id does not match `[A-Za-z0-9_-]{1,64}`.', 'Use another id, or omit it.'),
  invalid_definition: http(
    422,
    'A stored definition is not valid. Each of `issues` has a path and a reason.',
    'Correct the definition. Nothing was stored.',
  ),
  invalid_function_parameters: http(400, 'The `parameters` of a client tool are not a JSON Schema.', 'Correct them.'),
  invalid_idempotency_key: http(
    400,
    'The `Idempotency-Key` is empty, too long, or contains spaces.',
    'Send 1 to 255 printable ASCII characters.',
  ),
  invalid_request: http(
    400,
    'A field of the body or a parameter of the query is invalid; `param` is its path.',
    'Correct it.',
  ),
  invalid_value: http(400, 'A field of the body has a value that is not allowed; `param` is its path.', 'Correct it.'),
  malformed_body: http(400, 'The body is not JSON.', 'Send JSON in UTF-8.'),
  missing_required_parameter: http(400, 'A required field is missing; `param` is its path.', 'Add it.'),
  model_not_configured: http(503, 'The request names no model, and `MODEL` is not set.', 'Set `MODEL`.'),
  no_such_jurisdiction: http(
    501,
    'The platform does not have this jurisdiction. A local edge has none.',
    'Omit `jurisdiction`.',
  ),
  other_jurisdiction: http(
    403,
    'The key has a jurisdiction, and the conversation is in another one or in none.',
    'Use an id that begins with the jurisdiction, or another key.',
  ),
  no_tools_on_offer: http(
    400,
    '`tool_choice` requires a call, but the run has no tools.',
    'Name tools, or omit `tool_choice`.',
  ),
  not_a_turn: http(422, 'A fork would begin in the middle of a turn.', 'Fork at a user message or at an answer.'),
  not_found: http(404, 'The route does not exist.', 'See `GET /openapi.json`.'),
  other_owner: http(422, 'The tool to remove belongs to the tenant, not to the edge.', 'Send `?owner=tenant`.'),
  previous_response_not_found: http(
    400,
    '`previous_response_id` does not name a stored response.',
    'Name a response of this tenant that was not sent with `store: false`.',
  ),
  websocket_unsupported: http(426, 'No WebSockets.', 'Use HTTP.'),
  refused: http(403, 'A hook of the edge refused the request; the message is from that hook.', 'Follow the message.'),
  item_not_found: http(404, 'The conversation has no item of this id.', 'List its items.'),
  response_in_use: http(
    409,
    'The response to delete is in a conversation of the caller’s own, or with other responses.',
    'Delete the conversation, which the message names.',
  ),
  response_not_found: http(404, 'There is no such response, or it was not stored.', 'Check the id.'),
  search_not_available: http(
    400,
    'The edge has no tool search, and the request is `GET /tools?query=`.',
    'Add `search` to `createEdge`.',
  ),
  tool_name_conflict: http(
    400,
    'A client tool has an edge tool’s name, and may not replace it.',
    'Rename the client tool.',
  ),
  tool_not_stored: http(422, 'The tool to remove is not a stored tool.', 'Remove its binding instead.'),
  scope_not_held: http(
    403,
    'The key to make, change or rotate has a scope that the caller lacks. The message names it.',
    'Use a key with all scopes of that key. Disabling and removing a key needs none of them.',
  ),
  time_passed: http(
    400,
    'The schedule has no due time that is still to come.',
    'Send a later `at`, or a `cron` whose days exist.',
  ),
  invalid_signature: http(
    401,
    'A request to a trigger has no signature, a wrong one, or one that is older than five minutes.',
    'Check the secret of the trigger’s scheme, and the clock of the sender.',
  ),
  unknown_schedule: http(404, 'The tenant has no schedule with this name.', 'See `GET /schedules`.'),
  overlap: http(
    409,
    'The run that the schedule started before has not ended. In its history, not as an answer.',
    'End that run, or set `overlap` to `queue`.',
  ),
  unknown_key: http(404, 'No key with this id is stored.', 'See `GET /keys`. Keys of `API_KEYS` are not stored.'),
  unknown_message: http(404, 'The conversation has no message at that position.', 'Read `GET …/messages`.'),
  unknown_model: http(404, 'The model is not in `MODELS`, or its provider is not set up.', 'See `GET /v1/models`.'),
  option_not_allowed: http(
    400,
    'The request has an option of a provider that the operator has not allowed.',
    'Leave it out, or add it to `PROVIDER_OPTIONS`.',
  ),
  unknown_version: http(404, 'The stored tool has no version with that hash.', 'See `GET /tools/{name}/versions`.'),
  unsupported_charset: http(415, 'The body is not in UTF-8.', 'Send UTF-8.'),
  unsupported_encoding: http(415, 'The body is compressed.', 'Send it without `Content-Encoding`.'),
  unsupported_media_type: http(
    415,
    'The body has a media type that the route does not accept.',
    'Send `Content-Type: application/json`.',
  ),
  file_not_fetched: http(
    400,
    'A file or image is a URL that the provider does not fetch, and the edge may not fetch it or failed to.',
    'Allow its host in `FILE_HOSTS`, or send a data URL.',
  ),
  unsupported_parameter: http(
    400,
    'The edge does not support a field of the body or its value, such as `n: 2`.',
    'Omit it.',
  ),
  thread_unsupported_request: http(
    400,
    'A request to `/v1/messages` asks for a thread (`thread`), which the edge does not store.',
    'Send all messages; Anthropic’s SDK does so by itself. To store them, send `X-Conversation-Id`.',
  ),
  unsupported_value: http(400, 'A file or image has a URL that is neither `https:` nor `data:`.', 'Send a data URL.'),
  version_mismatch: http(
    412,
    'The stored version of the tool does not satisfy `If-Match` or `If-None-Match`.',
    'Read the tool again; `current` is the hash of the stored version.',
  ),
}

/** Errors of conversations and their runs. */
export const CONVERSATION_ERRORS: ErrorTexts = {
  call_already_answered: http(
    409,
    'The call no longer waits for an answer: it has one, or its run has ended.',
    'Read the run: `GET …/runs/{run}`.',
  ),
  conversation_busy: http(409, 'A run is in progress, and `onBusy` is `reject`.', 'Wait, or use `queue`.'),
  conversation_damaged: http(
    500,
    'What is stored of the conversation is damaged: a table, a column or a page cannot be read any more.',
    'Read what is left: `GET …/export`. Then restore a backup, or delete the conversation.',
  ),
  conversation_lost: http(
    503,
    'The connection to the Durable Object of the conversation was lost three times.',
    'Send the request again, with the same `Idempotency-Key`; if `x-should-retry` is `false`, read the run first.',
  ),
  overloaded: http(
    503,
    'A part of the edge, such as the list of conversations, has too many requests.',
    'Wait for `Retry-After`.',
  ),
  connection_lost: http(
    503,
    'The connection to a part of the edge was lost. A `POST` may have taken effect.',
    'Send the request again if `x-should-retry` is `true`; else read first what it has changed.',
  ),
  conversation_overloaded: http(503, 'The conversation has too many requests.', 'Wait for `Retry-After`.'),
  conversation_deleted: http(410, 'The conversation was deleted.', 'Use another one.'),
  report_expired: http(
    410,
    'The token of a report has expired.',
    'None is needed: the call has failed with `no_outcome`.',
  ),
  idempotency_mismatch: http(422, 'The `Idempotency-Key` was used with another body.', 'Use a new key.'),
  approval_expired: http(
    410,
    'A link or button for a decision has expired.',
    'None is needed: the call was rejected when its time was over.',
  ),
  not_an_approver: http(
    403,
    'The key of the person no longer exists in the tenant of the run, is disabled, or lacks the scope `approve`.',
    'Ask the operator, or somebody else of the approvers.',
  ),
  own_run: http(403, '`FOUR_EYES` is set, and the same key started the run.', 'Decide with another key.'),
  second_person_needed: http(
    403,
    '`FOUR_EYES` is `on`, and the approval has other arguments than the call, which no second person would see.',
    'Reject the call with a reason: the model then asks again. Or set `FOUR_EYES=decisions`.',
  ),
  queue_full: http(429, '`MAX_QUEUE` runs already wait in the conversation.', 'Wait for `Retry-After`.'),
  run_not_last: http(
    409,
    'The request continues a run that is not the latest of its conversation.',
    'Read the conversation again.',
  ),
  run_not_parked: http(409, 'The run to retry is not parked.', 'None is needed: the run continues, or has ended.'),
  run_replaced: http(409, 'Another run has already replaced this one.', 'Regenerate the latest run.'),
  run_waiting: http(
    409,
    'The current run waits for an approval, for results of its caller or for a tool; `run` lists the calls.',
    'Answer those calls, or cancel the run.',
  ),
  unknown_call: http(404, 'The run does not have this call.', 'Read the run: each of its `calls` has an id.'),
  unknown_step: http(404, 'The model got no request in this step of the run.', 'Check the number: steps count from 1.'),
  unknown_conversation: http(404, 'The tenant does not have this conversation.', 'Check the id and the key.'),
  unknown_run: http(404, 'The conversation does not have this run.', 'Check the id.'),
  wait_elapsed: http(
    504,
    'The run did not end within the requested waiting time. A stored run continues; any other was stopped.',
    'Read a stored run later, by `runId`.',
  ),
}

/** Errors that `edgecall/client` adds. It has those of the edge too, by the same codes. */
export const CLIENT_ERRORS: ErrorTexts = {
  bad_answer: errorText('The response does not come from an edge.', 'Check the URL: a proxy may have answered.'),
  redirected: errorText('The edge’s URL redirects.', 'Give the client the final URL.'),
  stream_cut: errorText(
    'The stream ended early, and it could not be opened again.',
    'Use a conversation, and `resume`.',
  ),
  unreachable: errorText('No response came.', 'Check the URL and the network.'),
}
