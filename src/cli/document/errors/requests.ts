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
    'The key has used up the tokens or the cost of its budget.',
    'Wait for the next period (`Retry-After`), or raise the `budget` of the key.',
  ),
  cross_site: http(
    403,
    'A browser sent a cookie of the identity provider from a page of another site.',
    'Call from the same site, or send the token in the `Authorization` header.',
  ),
  identity_unavailable: http(
    503,
    'The public keys of the identity provider could not be fetched.',
    'Try again; check the `issuer` and `jwks` of `IDENTITY_PROVIDERS`.',
  ),
  sign_in_failed: http(
    422,
    'Nobody can sign in to the server now, or there is no such server.',
    'Read the message. Check `oauth` and `MCP_CALLBACK_URL` of the Worker `tools/mcp`.',
  ),
  unknown_connection: http(404, 'There is no connection of this name and owner.', 'See `GET /connections`.'),
  internal_error: http(
    500,
    'The edge failed. This is a defect.',
    'Look for `edge.failed` in the log: it has the path and the stack.',
  ),
  key_disabled: http(
    401,
    'The id of the key is in the `disabled` list of the KV namespace `KEYS`.',
    'Use another key, or take the id out of the list.',
  ),
  key_expired: http(401, 'The `expires` date of the key has passed.', 'Use another key.'),
  keys_unavailable: http(503, 'The KV namespace `KEYS` could not be read.', 'Try again after `Retry-After`.'),
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
    'A quota of the tenant or the key is used up: `quota`, `used` and `limit`. The status is 507 for a quota on stored data.',
    'Wait for what is under way, delete what is stored, or raise the quota; `GET /usage` shows them.',
  ),
  rate_limited: http(
    429,
    'The key has sent more requests than its `rate` allows.',
    'Wait for `Retry-After`, or raise the limit of the binding.',
  ),
  too_many_unknown: http(
    429,
    'The key asked for 100 conversations or runs that do not exist within a minute.',
    'Check the ids that your program sends.',
  ),
  unauthorized: http(401, 'The request has no valid key or token.', 'Send `Authorization: Bearer <key>`.'),
}

/** Errors of a request: its route, its body and what it names. */
export const REQUEST_ERRORS: ErrorTexts = {
  arguments_changed: http(
    409,
    'A decision names an `argumentsHash`, and the call has other arguments.',
    'Read the call again and decide about what it says now.',
  ),
  bad_event_id: http(400, '`Last-Event-ID` or `?after=` names no event of this run.', 'Start from the beginning.'),
  body_too_large: http(413, 'The body is larger than `MAX_BODY_BYTES`.', 'Send less, or raise the variable.'),
  conversation_exists: http(409, 'A fork or a copy names an id that is taken.', 'Choose another id, or send none.'),
  copy_too_large: http(413, 'A copy of the conversation would have more than 30 MiB.', 'Take it back in time instead.'),
  invalid_copy: http(422, 'The copy is damaged, not complete, or of a newer edge. Nothing was stored.', 'Copy again.'),
  no_recovery: http(
    501,
    'The platform keeps no earlier state of the conversation, or none of that time. `edgecall dev` keeps none.',
    'Name a time within the last 30 days.',
  ),
  invalid_conversation_id: http(
    400,
    'The id is not of the form `[A-Za-z0-9_-]{1,64}`.',
    'Use another id, or let the edge make one.',
  ),
  invalid_definition: http(
    422,
    'A stored definition is not valid. `issues` has a path and a reason for each fault.',
    'Correct the definition. Nothing was stored.',
  ),
  invalid_function_parameters: http(400, 'The `parameters` of a client tool are not a JSON Schema.', 'Correct them.'),
  invalid_idempotency_key: http(
    400,
    'The `Idempotency-Key` is empty, too long, or has spaces.',
    'Send 1 to 255 printable ASCII characters.',
  ),
  invalid_request: http(400, 'A member of the body or of the query is wrong; `param` is its path.', 'Correct it.'),
  invalid_value: http(400, 'A member of the body has a value that is not allowed; `param` is its path.', 'Correct it.'),
  malformed_body: http(400, 'The body is not JSON.', 'Send JSON in UTF-8.'),
  missing_required_parameter: http(400, 'A required member is missing; `param` is its path.', 'Add it.'),
  model_not_configured: http(503, 'The request names no model, and `MODEL` is not set.', 'Set `MODEL`.'),
  no_such_jurisdiction: http(
    501,
    'The platform offers no such jurisdiction. A local edge offers none.',
    'Leave `jurisdiction` out.',
  ),
  no_tools_on_offer: http(400, 'A tool call is required, and no tool is on offer.', 'Name tools, or drop the choice.'),
  not_a_turn: http(422, 'A fork begins in the middle of a turn.', 'Fork at a user message or at an answer.'),
  not_found: http(404, 'There is no such route.', 'See `GET /openapi.json`.'),
  other_owner: http(422, 'The tool to remove belongs to the tenant, not to the edge.', 'Send `?owner=tenant`.'),
  previous_response_not_found: http(
    400,
    '`previous_response_id` names no stored response.',
    'Name a response of this tenant that was not sent with `store: false`.',
  ),
  refused: http(403, 'A hook of the edge refused the request. The message is the hook’s.', 'Do what it says.'),
  response_not_found: http(404, 'There is no such response, or it was not stored.', 'Check the id.'),
  search_not_available: http(
    400,
    '`GET /tools?query=` came to an edge without tool search.',
    'Add `search` to `createEdge`.',
  ),
  tool_name_conflict: http(400, 'A client tool has the name of a tool of the edge.', 'Rename the client tool.'),
  tool_not_stored: http(422, 'The tool to remove is not a stored one.', 'Remove its binding instead.'),
  unknown_message: http(404, 'The conversation has no message at that position.', 'Read `GET …/messages`.'),
  unknown_model: http(404, 'The model is not in `MODELS`, or its provider is not set up.', 'See `GET /v1/models`.'),
  unknown_version: http(404, 'The stored tool has no version with that hash.', 'See `GET /tools/{name}/versions`.'),
  unsupported_charset: http(415, 'The body is not in UTF-8.', 'Send UTF-8.'),
  unsupported_media_type: http(415, 'The body has another media type.', 'Send `Content-Type: application/json`.'),
  file_not_fetched: http(
    400,
    'A file or image comes as a URL that the model’s server does not fetch, and the edge may not or cannot.',
    'Allow its host in `FILE_HOSTS`, or send a data URL.',
  ),
  unsupported_parameter: http(400, 'The edge cannot do what a member asks for, such as `n: 2`.', 'Leave it out.'),
  unsupported_value: http(
    400,
    'A file or image comes as a URL that is neither `https:` nor `data:`.',
    'Send a data URL.',
  ),
  version_mismatch: http(
    412,
    '`If-Match` or `If-None-Match` names a version that is not the current one.',
    'Read the tool again; `current` is the hash of the version that is stored.',
  ),
}

/** Errors of conversations and their runs. */
export const CONVERSATION_ERRORS: ErrorTexts = {
  call_already_answered: http(
    409,
    'The call does not wait for this answer: it was answered before, or its run has ended.',
    'Read the run: `GET …/runs/{run}`.',
  ),
  conversation_busy: http(409, 'A run is in progress, and `onBusy` is `reject`.', 'Wait, or use `queue`.'),
  conversation_lost: http(
    503,
    'The object of the conversation was lost three times while it was asked.',
    'Send the request again, with the same `Idempotency-Key`; if `x-should-retry` is `false`, read the run first.',
  ),
  conversation_overloaded: http(503, 'The conversation has too many requests.', 'Wait for `Retry-After`.'),
  conversation_deleted: http(410, 'The conversation was deleted.', 'Use another one.'),
  report_expired: http(410, 'The token of a report has expired.', 'Nothing: the call has failed by now.'),
  idempotency_mismatch: http(422, 'The `Idempotency-Key` was used with another body.', 'Use a new key.'),
  own_run: http(403, '`FOUR_EYES` is `on`, and the key that decides started the run.', 'Decide with another key.'),
  queue_full: http(429, 'More than `MAX_QUEUE` runs wait in the conversation.', 'Wait for `Retry-After`.'),
  run_not_last: http(409, 'The request continues from a run that is not the latest.', 'Read the conversation again.'),
  run_not_parked: http(409, 'The run to retry is not parked.', 'Nothing: the run continues, or has ended.'),
  run_replaced: http(409, 'The turn was already regenerated.', 'Regenerate the run that replaced it.'),
  run_waiting: http(
    409,
    'The last run waits for a person or for results of its caller. `run` says for what.',
    'Answer those calls, or cancel the run.',
  ),
  unknown_call: http(404, 'The run has no such call.', 'Read the run: its `calls` have their ids.'),
  unknown_conversation: http(404, 'The tenant has no such conversation.', 'Check the id and the key.'),
  unknown_run: http(404, 'The conversation has no such run.', 'Check the id.'),
  wait_elapsed: http(504, 'The run has not ended within the time to wait. It continues.', 'Ask for it by `runId`.'),
}

/** Errors that `edgecall/client` adds. It has those of the edge too, by the same codes. */
export const CLIENT_ERRORS: ErrorTexts = {
  bad_answer: errorText('The response is not one of an edge.', 'Check the URL: a proxy may have answered.'),
  redirected: errorText('The URL of the client redirects.', 'Give the final URL of the edge.'),
  stream_cut: errorText(
    'The stream ended early, and it could not be opened again.',
    'Use a conversation, and `resume`.',
  ),
  unreachable: errorText('No response came.', 'Check the URL and the network.'),
}
