import { STREAM_FORMATS } from './client-routes.ts'
import { ref } from './json-schema.ts'
import { COUNT_RUNS, LIST_ALL_RUNS, LIST_APPROVALS } from './lists.ts'
import { ANY_KEY, type Routes } from './operation.ts'

/** The errors of a request about a conversation or run that is not there. */
export const MISSING_RUN = {
  404: 'The conversation or run does not exist, or it belongs to another tenant.',
  410: 'The conversation was deleted.',
}
const FAILED = {
  429: 'Too many requests, or the budget of the key is spent.',
  502: 'The model provider failed.',
  503: 'No model is configured.',
  504: 'The run did not end in time. It continues; get it by its `runId`.',
}
const RUN_HEADERS = {
  'Idempotency-Key': 'Requests with the same key and the same body return the same run.',
  Prefer: '`wait=N`: the seconds to wait for the run to end if the answer is JSON.',
}
const FORMAT = {
  format: `Stream the events in another protocol, from the start of the run: ${Object.entries(STREAM_FORMATS)
    .map(([format, protocol]) => `\`${format}\` (${protocol})`)
    .join(' or ')}.`,
}
const ENDED = {
  says: 'The run after it has ended or, if `Accept` is `text/event-stream`, its events as they happen.',
  json: 'Run',
  events: 'RunEvent',
}
const WAITING = {
  says: 'The run waits for its caller or for an approval, or the request had `Prefer: respond-async`.',
  json: 'Run',
}
const RUN_ID = { 'X-Run-Id': { schema: { type: 'string' } } }
const TURN = { ...ENDED, headers: { ...RUN_ID, 'X-Conversation-Id': { schema: { type: 'string' } } } }
/** The errors of a turn that is run again, with the model that it had. */
const { 503: _noModel, ...FAILED_AGAIN } = FAILED

/** The routes of runs and of conversations. */
export const RUN_ROUTES: Routes = {
  '/runs': {
    get: LIST_ALL_RUNS,
    post: {
      tag: 'Runs',
      id: 'run',
      summary: 'Start a run without a conversation',
      description: 'The run is not stored. With an `Idempotency-Key` it is stored for one day.',
      scope: 'chat',
      query: FORMAT,
      headers: RUN_HEADERS,
      body: 'RunBody',
      answers: { 200: { ...ENDED, headers: RUN_ID } },
      errors: { ...FAILED, 422: 'A limit failed the run, or the `Idempotency-Key` was used with another body.' },
    },
  },
  '/runs/counts': { get: COUNT_RUNS },
  '/caller': {
    get: {
      tag: 'Runs',
      id: 'getCaller',
      summary: 'Get what the edge knows of the caller',
      description: 'A page can tell by it what a key may do.',
      scope: ANY_KEY,
      answers: { 200: { says: 'The tenant, the key and its scopes, and the currency of costs.', json: 'Caller' } },
    },
  },
  '/usage': {
    get: {
      tag: 'Runs',
      id: 'usage',
      summary: 'Get the usage of the API key',
      description:
        'Covers the current period of the key’s budget, a day or a month in UTC. Counts of work in progress are those of one isolate.',
      scope: 'chat',
      query: {
        by: '`key`, `model` or `tool`: return the usage of all runs of the tenant by these instead. It needs the scope `metrics`.',
        from: 'The first day in UTC, such as `2026-02-01`. Default: the first of this month. With `by` only.',
        to: 'The last day. Default: today.',
        per: '`day`: return the usage of each day by itself, the oldest first. With `by` only.',
      },
      answers: {
        200: {
          says: 'Tokens, cost and runs of the period, if the key has a budget; each quota and how much of it is used. With `by`: the usage of each name, the greatest cost first.',
          json: 'Spend',
        },
      },
    },
  },
  '/approvals': { get: LIST_APPROVALS },
  '/conversations': {
    get: {
      tag: 'Conversations',
      id: 'listConversations',
      summary: 'List the conversations of the tenant',
      scope: 'chat',
      description:
        'Conversations of agents are left out. With `parent`, the conversations of the agents that the runs of that conversation have called are listed instead, each with `agent`, `calledBy`, `call` and `run`.',
      query: {
        after: 'Return conversations after this id.',
        limit: 'The page size, at most 1000.',
        parent: 'The id of the conversation whose agents are wanted.',
      },
      answers: {
        200: { says: 'Conversations, sorted by id.', json: { type: 'array', items: ref('ConversationReference') } },
      },
    },
    post: {
      tag: 'Conversations',
      id: 'createConversation',
      summary: 'Create a conversation',
      description: 'Its settings are the defaults of its runs and cannot be changed later.',
      scope: 'chat',
      body: 'ConversationBody',
      bodyIsOptional: true,
      answers: {
        200: {
          says: 'The conversation existed already. Only a request without settings may name it.',
          json: 'ConversationReference',
        },
        201: { says: 'The conversation was created with these settings.', json: 'ConversationReference' },
      },
      errors: {
        409: 'A conversation with this id has other settings.',
        410: 'A conversation with this id was deleted.',
      },
    },
  },
  '/conversations/{id}': {
    delete: {
      tag: 'Conversations',
      id: 'deleteConversation',
      summary: 'Delete a conversation',
      description: 'Its active runs are cancelled.',
      scope: 'chat',
      answers: { 204: { says: 'It was deleted.' } },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/fork': {
    post: {
      tag: 'Conversations',
      id: 'forkConversation',
      summary: 'Fork a conversation',
      description:
        'Creates a conversation with the messages of this one up to position `at`, which must be a user message or a final answer.',
      scope: 'chat',
      body: 'ForkBody',
      answers: { 201: { says: 'The new conversation.', json: 'ConversationReference' } },
      errors: {
        ...MISSING_RUN,
        409: 'A conversation with the new id exists.',
        422: 'The message at `at` does not end a turn.',
      },
    },
  },
  '/conversations/{id}/export': {
    get: {
      tag: 'Conversations',
      id: 'exportConversation',
      summary: 'Export a conversation',
      scope: 'chat',
      answers: {
        200: {
          says: 'One JSON value per line: the conversation, then its runs and messages.',
          type: 'application/x-ndjson',
        },
      },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/messages': {
    get: {
      tag: 'Conversations',
      id: 'listMessages',
      summary: 'List the messages of a conversation, oldest first',
      scope: 'chat',
      query: { before: 'Return messages before this position.', limit: 'The page size, at most 1000.' },
      answers: {
        200: { says: 'The newest messages before `before`.', json: { type: 'array', items: ref('StoredMessage') } },
      },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/usage': {
    get: {
      tag: 'Conversations',
      id: 'conversationUsage',
      summary: 'Get the usage of a conversation',
      scope: 'chat',
      answers: { 200: { says: 'The usage of all its runs, summed.', json: 'Usage' } },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/runs': {
    get: {
      tag: 'Conversations',
      id: 'listRuns',
      summary: 'List the runs of a conversation, oldest first',
      scope: 'chat',
      query: { before: 'Return runs before the run with this id.', limit: 'The page size, at most 1000.' },
      answers: { 200: { says: 'The newest runs before `before`.', json: { type: 'array', items: ref('RunSummary') } } },
      errors: MISSING_RUN,
    },
    post: {
      tag: 'Runs',
      id: 'runInConversation',
      summary: 'Start a run in a conversation',
      description: 'The run continues if the client disconnects.',
      scope: 'chat',
      query: FORMAT,
      headers: { ...RUN_HEADERS, Prefer: `${RUN_HEADERS.Prefer} \`respond-async\`: answer 202 at once.` },
      body: 'RunBody',
      answers: { 200: TURN, 202: WAITING },
      errors: {
        ...MISSING_RUN,
        ...FAILED,
        409: 'Another run of the conversation is in progress.',
        422: 'A limit failed the run, or the `Idempotency-Key` was used with another body.',
      },
    },
  },
  '/conversations/{id}/runs/{run}': {
    get: {
      tag: 'Runs',
      id: 'getRun',
      summary: 'Get a run',
      scope: 'chat',
      answers: { 200: { says: 'The run in its current state.', json: 'Run' } },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/runs/{run}/events': {
    get: {
      tag: 'Runs',
      id: 'followRun',
      summary: 'Get the events of a run: past events, then new ones as they happen',
      scope: 'chat',
      query: { after: 'Return events after this `seq`.', ...FORMAT },
      headers: { 'Last-Event-ID': 'Return events after the event with this id.' },
      answers: {
        200: { says: 'The events until the run ends or waits.', events: 'RunEvent' },
        204: { says: 'The run has ended, and has no later event: an `EventSource` then closes.' },
      },
      errors: { ...MISSING_RUN, 400: 'The run has no event with this `seq` or id.' },
    },
  },
  '/conversations/{id}/runs/{run}/cancel': {
    post: {
      tag: 'Runs',
      id: 'cancelRun',
      summary: 'Cancel a run',
      scope: 'chat',
      answers: {
        200: {
          says: 'Whether the run was cancelled or had already ended.',
          json: {
            type: 'object',
            properties: { status: { enum: ['cancelled', 'already_terminal'] } },
            required: ['status'],
          },
        },
      },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/runs/{run}/regenerate': {
    post: {
      tag: 'Runs',
      id: 'regenerateRun',
      summary: 'Regenerate the answer of a run',
      description: 'Runs the turn again. Models no longer see the old answer.',
      scope: 'chat',
      query: FORMAT,
      answers: { 200: TURN, 202: WAITING },
      errors: { ...MISSING_RUN, ...FAILED_AGAIN, 409: 'The run has not ended, or it was already regenerated.' },
    },
  },
  '/conversations/{id}/runs/{run}/calls/{call}': {
    get: {
      tag: 'Runs',
      id: 'getApproval',
      summary: 'Get a call that waits for approval',
      scope: 'approve',
      answers: {
        200: {
          says: 'The call, the caller who started the run, and the tool’s definition as the model saw it.',
          json: 'Approval',
        },
      },
      errors: MISSING_RUN,
    },
    post: {
      tag: 'Runs',
      id: 'answerCall',
      summary: 'Approve or reject a call, or send its result',
      scope: 'approve for a decision, chat for a result',
      body: 'CallAnswer',
      answers: { 200: { says: 'The run, which continues.', json: 'Run' }, 202: WAITING },
      errors: { ...MISSING_RUN, 409: 'The call does not wait for this decision or result.' },
    },
  },
}
