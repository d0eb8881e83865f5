import { type ErrorTexts, http, errorText } from './error-text.ts'

/** Errors with which a run fails: in `error` of `run.finished`, and as the answer if nothing was sent yet. */
export const RUN_ERRORS: ErrorTexts = {
  hook_failed: http(502, 'A hook threw an error.', 'Look for `hook_failed` in the log, and correct the hook.'),
  interrupted: http(
    502,
    'The run was interrupted five times without progress, by crashes or errors.',
    'Look for `run.interrupted`.',
  ),
  invalid_answer: http(
    502,
    'The model’s structured answer does not fit the schema of `responseFormat`.',
    'Simplify the schema, or use a stronger model.',
  ),
  limit_reached: http(
    422,
    'A limit was reached and `onLimit` is `fail`, or the final answer was a tool call again. `which` names the limit.',
    'Raise the limit, or find out why the run needs so much.',
  ),
  no_progress: http(
    502,
    'The run made no progress for five minutes, not counting outages.',
    'Find out in the log what it waited for.',
  ),
  run_cancelled: http(409, 'The run was cancelled.', 'None is needed.'),
  run_failed: http(502, 'The run failed, and its cause was not stored.', 'Look for the run’s id in the log.'),
  run_interrupted: errorText('The event stream ended before the run did.', 'Read the run by its id.'),
  run_lost: http(
    502,
    'The stored data of the run cannot be read.',
    'Look for `row.set_aside` in the log. Start a new run.',
  ),
  run_not_allowed: http(
    409,
    'The key that started the run was disabled or removed, has expired or lost the scope `chat` before the run continued. The message says which.',
    'Start a new run with another key.',
  ),
  run_parked: http(
    503,
    'The run is parked: it could not be resumed, and is tried again later and later. The event `run.parked` has the reason.',
    'Wait, or remove the cause and retry the run.',
  ),
  run_timeout: http(504, 'The run took longer than `RUN_TIMEOUT_MS`.', 'Raise it, or use faster tools.'),
  subrequest_limit: http(
    422,
    'A run without a conversation needs more than `MAX_SUBREQUESTS` subrequests, and only a conversation could continue it.',
    'Run it in a conversation, or lower its `steps` and `calls`.',
  ),
}

/** Errors of models. If the model keeps failing, the run fails with the code. */
export const MODEL_ERRORS: ErrorTexts = {
  empty_answer: http(
    502,
    'The model stopped without a text or a call, twice in a row.',
    'Look at the prompt, or use another model.',
  ),
  model_answer_too_large: http(502, 'An answer is longer than `MAX_ANSWER_CHARACTERS`.', 'Raise the limit.'),
  model_bad_response: http(
    502,
    'The provider’s answer is not in its documented format, three times in a row. A proxy’s error page is such an answer.',
    'Check that the server at the base URL speaks this format.',
  ),
  model_context_exceeded: http(
    400,
    'The model refused the messages and tools as too long, also after earlier messages had been reduced three times.',
    'Send a shorter message, offer fewer tools, or name a model with a larger window.',
  ),
  model_not_found: http(404, 'The provider does not have this model.', 'Check the name in `MODEL` or `MODELS`.'),
  model_quota_exceeded: http(
    402,
    'The account of the edge at the provider has no quota left.',
    'Add credit at the provider.',
  ),
  model_rate_limited: http(
    429,
    'The provider’s rate limit was exceeded, also after retries.',
    'Wait for `Retry-After`, or raise your quota with the provider.',
  ),
  model_refused_request: http(
    400,
    'The provider refused the request; the message is the provider’s. A file, or earlier reasoning, for which it refuses one is left out, also of later turns, with a note to the model and `step.restarted` because of `item_refused`; one that it does not name is found by a few questions.',
    'Follow the message. For what was left out, send another file.',
  ),
  model_stream_cut: http(502, 'The provider’s answer ended before the model was done.', 'Try again.'),
  model_timeout: http(502, 'The provider did not answer in time.', 'Try again, or use a faster model.'),
  model_unauthorized: http(424, 'The provider refused the key of the edge.', 'Set the key: `OPENAI_API_KEY`, ….'),
  model_unavailable: http(
    502,
    'The provider answered with a server error, also after retries; with status 503 or 529, ours is the same.',
    'Try again later.',
  ),
  model_unreachable: http(502, 'The provider could not be reached.', 'Check the base URL.'),
  model_without_tools: http(400, 'The model cannot call tools.', 'Use a model that can.'),
}
