import { ref } from './json-schema.ts'
import type { Routes } from './operation.ts'

const UNKNOWN = { 404: 'There is no such conversation or run, or it is another tenant’s.', 410: 'It was deleted.' }
const FAILED = {
  429: 'Too much is asked at once.',
  502: 'The model failed.',
  503: 'No model is set up.',
  504: 'The run goes on: ask for it by `runId`.',
}
const RUN_HEADERS = {
  'Idempotency-Key': 'The same key and body stand for the same run.',
  Prefer: '`wait=N` seconds at most for the JSON of the run.',
}
const FORMAT = {
  format: 'Events from the start as another protocol has them: `ui-message` (AI SDK UI message stream) or `ag-ui`.',
}
const ENDED = {
  says: 'The run once it has ended, or its events as they happen, by `Accept`.',
  json: 'Run',
  or: 'events',
}
const WAITING = {
  says: 'The run waits for its caller or for an approval, or was asked for with `respond-async`.',
  json: 'Run',
}
const TURN = {
  ...ENDED,
  headers: { 'X-Run-Id': { schema: { type: 'string' } }, 'X-Conversation-Id': { schema: { type: 'string' } } },
} as const

/** The routes of runs and of conversations. */
export const RUN_ROUTES: Routes = {
  '/runs': {
    post: {
      tag: 'Runs',
      id: 'run',
      summary: 'Run without a conversation',
      description: 'Nothing is kept of it, but for a day where an Idempotency-Key came with it.',
      scope: 'chat',
      query: FORMAT,
      headers: RUN_HEADERS,
      body: 'RunBody',
      answers: { 200: TURN },
      errors: { ...FAILED, 422: 'A limit failed the run, or the Idempotency-Key came with another body.' },
    },
  },
  '/usage': {
    get: {
      tag: 'Runs',
      id: 'usage',
      summary: 'What the key has used of its budget and quotas',
      description: 'Of the day or the month (UTC) that the budget is for. What is under way is that of one isolate.',
      scope: 'chat',
      answers: {
        200: {
          says: 'Tokens, cost and runs of the period, if the key has a budget; each quota with what is used of it.',
          json: 'Spend',
        },
      },
    },
  },
  '/conversations': {
    get: {
      tag: 'Conversations',
      id: 'listConversations',
      summary: 'The conversations of the tenant',
      scope: 'chat',
      query: { after: 'The id after which to begin.', limit: 'At most 1000.' },
      answers: { 200: { says: 'Ids, in their order.', json: { type: 'array', items: ref('Named') } } },
    },
    post: {
      tag: 'Conversations',
      id: 'createConversation',
      summary: 'Make a conversation',
      description: 'Its settings are defaults of its runs, and never change.',
      scope: 'chat',
      body: 'ConversationBody',
      bodyIsOptional: true,
      answers: { 201: { says: 'It is there.', json: 'Named' } },
      errors: { 409: 'One of this id has other settings.', 410: 'One of this id was deleted.' },
    },
  },
  '/conversations/{id}': {
    delete: {
      tag: 'Conversations',
      id: 'deleteConversation',
      summary: 'Delete a conversation',
      description: 'What runs is cancelled.',
      scope: 'chat',
      answers: { 204: { says: 'It is gone.' } },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/fork': {
    post: {
      tag: 'Conversations',
      id: 'forkConversation',
      summary: 'A new conversation that begins as this one',
      description: '`at` is the position of the last message that both have: what a user said, or an answer.',
      scope: 'chat',
      body: 'ForkBody',
      answers: { 201: { says: 'The new conversation.', json: 'Named' } },
      errors: { ...UNKNOWN, 409: 'There is one of this id.', 422: 'A turn is not over at `at`.' },
    },
  },
  '/conversations/{id}/export': {
    get: {
      tag: 'Conversations',
      id: 'exportConversation',
      summary: 'Everything that is kept of a conversation',
      scope: 'chat',
      answers: {
        200: { says: 'A JSON value a line: the conversation, runs, messages.', type: 'application/x-ndjson' },
      },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/messages': {
    get: {
      tag: 'Conversations',
      id: 'listMessages',
      summary: 'The messages of a conversation, oldest first',
      scope: 'chat',
      query: { before: 'The position before which to end.', limit: 'At most 1000.' },
      answers: { 200: { says: 'The newest messages before.', json: { type: 'array', items: ref('StoredMessage') } } },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/usage': {
    get: {
      tag: 'Conversations',
      id: 'conversationUsage',
      summary: 'What all runs of a conversation used',
      scope: 'chat',
      answers: { 200: { says: 'Sums.', json: 'Usage' } },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/runs': {
    get: {
      tag: 'Conversations',
      id: 'listRuns',
      summary: 'The runs of a conversation, oldest first',
      scope: 'chat',
      query: { before: 'The run before which to end.', limit: 'At most 1000.' },
      answers: { 200: { says: 'The newest runs before.', json: { type: 'array', items: ref('RunSummary') } } },
      errors: UNKNOWN,
    },
    post: {
      tag: 'Runs',
      id: 'runInConversation',
      summary: 'Run in a conversation',
      description: 'It goes on whoever leaves.',
      scope: 'chat',
      query: FORMAT,
      headers: { ...RUN_HEADERS, Prefer: `${RUN_HEADERS.Prefer} \`respond-async\`: 202 at once.` },
      body: 'RunBody',
      answers: { 200: TURN, 202: WAITING },
      errors: {
        ...UNKNOWN,
        ...FAILED,
        409: 'A run is under way.',
        422: 'A limit, or an Idempotency-Key of another body.',
      },
    },
  },
  '/conversations/{id}/runs/{run}': {
    get: {
      tag: 'Runs',
      id: 'getRun',
      summary: 'A run as it stands',
      scope: 'chat',
      answers: { 200: { says: 'The run.', json: 'Run' } },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/runs/{run}/events': {
    get: {
      tag: 'Runs',
      id: 'followRun',
      summary: 'The events of a run: what was, then what comes',
      scope: 'chat',
      query: { after: 'The `seq` after which to begin.', ...FORMAT },
      headers: { 'Last-Event-ID': 'The event after which to begin.' },
      answers: { 200: { says: 'Events, until the run ends or waits.', type: 'events' } },
      errors: { ...UNKNOWN, 400: 'This is no event of the run.' },
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
          says: 'What came of it.',
          json: {
            type: 'object',
            properties: { status: { enum: ['cancelled', 'already_terminal'] } },
            required: ['status'],
          },
        },
      },
      errors: UNKNOWN,
    },
  },
  '/conversations/{id}/runs/{run}/retry': {
    post: {
      tag: 'Runs',
      id: 'retryRun',
      summary: 'Resume a parked run',
      description: 'A run is parked if its conversation was lost three times while it resumed the run.',
      scope: 'chat',
      answers: { 200: { says: 'The run.', json: 'Run' } },
      errors: { ...UNKNOWN, 409: 'The run is not parked.' },
    },
  },
  '/conversations/{id}/runs/{run}/regenerate': {
    post: {
      tag: 'Runs',
      id: 'regenerateRun',
      summary: 'Run a turn again',
      description: 'Models see the old one no more.',
      scope: 'chat',
      query: FORMAT,
      answers: { 200: TURN, 202: WAITING },
      errors: { ...UNKNOWN, ...FAILED, 409: 'The run has not ended, or was run again already.' },
    },
  },
  '/conversations/{id}/runs/{run}/calls/{call}': {
    get: {
      tag: 'Runs',
      id: 'getApproval',
      summary: 'A call that waits for a decision, with all that there is to see for it',
      scope: 'approve',
      answers: { 200: { says: 'The call, who started its run, and the tool as the model saw it.', json: 'Approval' } },
      errors: UNKNOWN,
    },
    post: {
      tag: 'Runs',
      id: 'answerCall',
      summary: 'Decide on a call, or give its result',
      scope: 'approve for a decision, chat for a result',
      body: 'CallAnswer',
      answers: { 200: { says: 'The run, which goes on.', json: 'Run' }, 202: WAITING },
      errors: { ...UNKNOWN, 409: 'The call waits for no such answer.' },
    },
  },
}
