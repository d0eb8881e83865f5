import type { Routes } from './operation.ts'

/** The headers of requests that start runs in conversations. */
export const CONVERSATION = {
  'X-Conversation-Id': 'The id of the conversation. A conversation that does not exist is created.',
  'Idempotency-Key': 'Requests with the same key and the same body return the same run.',
}
/** The errors of models. */
export const ANSWER_ERRORS = {
  404: 'The model does not exist.',
  429: 'Too many requests, or the budget of the key is spent.',
  502: 'The model provider failed.',
}
/** The errors of requests that start runs. */
export const START_ERRORS = {
  ...ANSWER_ERRORS,
  409: 'No call is waiting for these results, or the previous run is still waiting for its results.',
  503: 'No model is configured.',
}
const ITEM_QUERY = {
  order: '`desc` (the default): the newest items first; `asc`: the oldest.',
  after: 'Return items after the one with this id.',
  limit: 'The page size, at most 100. Default: 20.',
}

const ITEM_LIST = {
  type: 'object',
  description: 'OpenAI’s list of items.',
  properties: {
    object: { const: 'list' },
    data: { type: 'array', items: { type: 'object' } },
    first_id: { type: ['string', 'null'] },
    last_id: { type: ['string', 'null'] },
    has_more: { type: 'boolean' },
  },
  required: ['object', 'data', 'first_id', 'last_id', 'has_more'],
}

const OPENAI_CONVERSATION = {
  type: 'object',
  description: 'OpenAI’s object `conversation`. `created_at` is 0 if an earlier version created it.',
  properties: {
    id: { type: 'string' },
    object: { const: 'conversation' },
    created_at: { type: 'integer' },
    metadata: { type: 'object' },
  },
  required: ['id', 'object', 'created_at', 'metadata'],
}

const NO_CONVERSATION = {
  404: 'The conversation does not exist, or it belongs to another tenant.',
  410: 'The conversation was deleted.',
}

/** The routes of OpenAI’s Responses API, and of its conversations. */
export const RESPONSE_ROUTES: Routes = {
  '/v1/responses': {
    post: {
      tag: 'OpenAI',
      id: 'createResponse',
      summary: 'Create a response',
      scope: 'chat',
      headers: CONVERSATION,
      body: 'ResponseBody',
      answers: {
        200: {
          says: 'The response, or its events if `stream` is true.',
          json: 'OpenAIResponse',
          events: 'ResponseEvent',
        },
      },
      errors: START_ERRORS,
    },
  },
  '/v1/responses/{id}': {
    get: {
      tag: 'OpenAI',
      id: 'getResponse',
      summary: 'Get a stored response',
      description: 'A response that is still being generated has the status `in_progress`.',
      scope: 'chat',
      query: {
        stream: '`true` to stream the events of the response.',
        starting_after: 'Stream only the events after this `sequence_number`.',
      },
      answers: {
        200: {
          says: 'The response, or its events if `stream` is true.',
          json: 'OpenAIResponse',
          events: 'ResponseEvent',
        },
      },
      errors: { 404: 'The response does not exist or was not stored.' },
    },
    delete: {
      tag: 'OpenAI',
      id: 'deleteResponse',
      summary: 'Delete a stored response',
      description: 'With its conversation, which was made for it.',
      scope: 'chat',
      answers: {
        200: {
          says: 'The response is deleted.',
          json: {
            type: 'object',
            properties: { id: { type: 'string' }, object: { const: 'response' }, deleted: { const: true } },
            required: ['id', 'object', 'deleted'],
          },
        },
      },
      errors: {
        404: 'The response does not exist or was not stored.',
        409: 'Other responses are in its conversation, or the conversation is the caller’s own.',
      },
    },
  },
  '/v1/responses/{id}/input_items': {
    get: {
      tag: 'OpenAI',
      id: 'listInputItems',
      summary: 'List the input of a response',
      scope: 'chat',
      query: ITEM_QUERY,
      answers: { 200: { says: 'A page of items.', json: ITEM_LIST } },
      errors: { 400: 'The query is not valid.', 404: 'The response does not exist or was not stored.' },
    },
  },
  '/v1/responses/input_tokens': {
    post: {
      tag: 'OpenAI',
      id: 'countInputTokens',
      summary: 'Estimate the tokens of a response’s request',
      description:
        'With the instructions and tools of the edge, and the earlier messages of its conversation. No model is asked.',
      scope: 'chat',
      body: 'ResponseBody',
      answers: {
        200: {
          says: 'The estimate.',
          json: {
            type: 'object',
            properties: { object: { const: 'response.input_tokens' }, input_tokens: { type: 'integer' } },
            required: ['object', 'input_tokens'],
          },
        },
      },
      errors: { 404: ANSWER_ERRORS[404] },
    },
  },
  '/v1/responses/compact': {
    post: {
      tag: 'OpenAI',
      id: 'compactResponse',
      summary: 'Compact a conversation',
      description:
        'A model writes a summary of the answers, calls and results. Send the items back as input in place of those that they stand for.',
      scope: 'chat',
      body: 'ResponseBody',
      answers: {
        200: {
          says: 'The messages of the user, and an item `compaction`.',
          json: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              object: { const: 'response.compaction' },
              created_at: { type: 'integer' },
              output: { type: 'array', items: { type: 'object' } },
              usage: { type: 'object' },
            },
            required: ['id', 'object', 'created_at', 'output', 'usage'],
          },
        },
      },
      errors: { ...ANSWER_ERRORS, 503: START_ERRORS[503] },
    },
  },
  '/v1/responses/{id}/cancel': {
    post: {
      tag: 'OpenAI',
      id: 'cancelResponse',
      summary: 'Cancel a stored response',
      description: 'A response that has ended is returned as it is.',
      scope: 'chat',
      answers: { 200: { says: 'The response.', json: 'OpenAIResponse' } },
      errors: { 404: 'The response does not exist or was not stored.' },
    },
  },
  '/v1/conversations': {
    post: {
      tag: 'OpenAI',
      id: 'createOpenAIConversation',
      summary: 'Create a conversation, as OpenAI’s clients do',
      description: 'The body may be absent.',
      scope: 'chat',
      body: 'OpenAIConversation',
      bodyIsOptional: true,
      answers: { 200: { says: 'The conversation.', json: OPENAI_CONVERSATION } },
    },
  },
  '/v1/conversations/{id}': {
    get: {
      tag: 'OpenAI',
      id: 'getOpenAIConversation',
      summary: 'Get a conversation, as OpenAI’s clients do',
      scope: 'chat',
      answers: { 200: { says: 'The conversation.', json: OPENAI_CONVERSATION } },
      errors: NO_CONVERSATION,
    },
    post: {
      tag: 'OpenAI',
      id: 'changeOpenAIConversation',
      summary: 'Get a conversation: it has no metadata to change',
      scope: 'chat',
      body: 'OpenAIConversationChange',
      answers: { 200: { says: 'The conversation.', json: OPENAI_CONVERSATION } },
      errors: NO_CONVERSATION,
    },
    delete: {
      tag: 'OpenAI',
      id: 'deleteOpenAIConversation',
      summary: 'Delete a conversation, as OpenAI’s clients do',
      scope: 'chat',
      answers: {
        200: {
          says: 'The conversation is deleted.',
          json: {
            type: 'object',
            properties: { id: { type: 'string' }, object: { const: 'conversation.deleted' }, deleted: { const: true } },
            required: ['id', 'object', 'deleted'],
          },
        },
      },
      errors: NO_CONVERSATION,
    },
  },
  '/v1/conversations/{id}/items': {
    get: {
      tag: 'OpenAI',
      id: 'listItems',
      summary: 'List the items of a conversation',
      description: 'Calls that ran at the edge are items of type `function_call` here, with their output.',
      scope: 'chat',
      query: ITEM_QUERY,
      answers: { 200: { says: 'A page of items.', json: ITEM_LIST } },
      errors: { ...NO_CONVERSATION, 400: 'The query is not valid.' },
    },
    post: {
      tag: 'OpenAI',
      id: 'addItems',
      summary: 'Add items to a conversation',
      description: 'The results of calls among them count as untrusted and private.',
      scope: 'chat',
      body: 'OpenAIItems',
      answers: { 200: { says: 'The items.', json: ITEM_LIST } },
      errors: { ...NO_CONVERSATION, 409: 'A run of the conversation is in progress.' },
    },
  },
  '/v1/conversations/{id}/items/{item}': {
    get: {
      tag: 'OpenAI',
      id: 'getItem',
      summary: 'Get an item of a conversation',
      scope: 'chat',
      answers: { 200: { says: 'The item.', json: { type: 'object' } } },
      errors: { ...NO_CONVERSATION, 404: 'The conversation or the item does not exist.' },
    },
  },
}
