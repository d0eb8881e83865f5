import type { Routes } from './operation.ts'

const CONVERSATION = {
  'X-Conversation-Id': 'The conversation that the request belongs to; it is made where there is none.',
  'Idempotency-Key': 'The same key and body stand for the same run.',
}
const FAILED = { 404: 'There is no such model.', 429: 'Too much is asked at once.', 502: 'The model failed.' }
const ERRORS = {
  ...FAILED,
  409: 'No call waits for these answers, or those of the run before are waited for.',
  503: 'No model is set up.',
}
const STREAM = { says: 'The answer as it comes.', type: 'text/event-stream' }

/** The routes of other clients' protocols, and those about the edge itself. */
export const CLIENT_ROUTES: Routes = {
  '/v1/chat/completions': {
    post: {
      tag: 'OpenAI',
      id: 'createChatCompletion',
      summary: 'Chat Completions',
      description: 'The edge’s own tools run at the edge; those in `tools` are the caller’s.',
      scope: 'chat',
      headers: CONVERSATION,
      body: 'ChatCompletionBody',
      answers: { 200: { says: 'The answer, or with `stream` its chunks.', json: 'ChatCompletion', or: 'events' } },
      errors: ERRORS,
    },
  },
  '/v1/responses': {
    post: {
      tag: 'OpenAI',
      id: 'createResponse',
      summary: 'Responses',
      scope: 'chat',
      headers: CONVERSATION,
      body: 'ResponseBody',
      answers: { 200: { says: 'The response, or with `stream` its events.', json: 'Response', or: 'events' } },
      errors: ERRORS,
    },
  },
  '/v1/responses/{id}': {
    get: {
      tag: 'OpenAI',
      id: 'getResponse',
      summary: 'A stored response',
      description: 'Complete, or as it stands.',
      scope: 'chat',
      query: { stream: '`true` for its events.', starting_after: 'The number after which the events begin.' },
      answers: { 200: { says: 'The response, or its events.', json: 'Response', or: 'events' } },
      errors: { 404: 'There is no such response, or it was not stored.' },
    },
  },
  '/v1/models': {
    get: {
      tag: 'OpenAI',
      id: 'listModels',
      summary: 'The models that a request may name',
      scope: 'chat',
      answers: { 200: { says: 'Exact names.', json: 'ModelList' } },
    },
  },
  '/v1/models/{name}': {
    get: {
      tag: 'OpenAI',
      id: 'getModel',
      summary: 'A model',
      description: 'The name may hold slashes: `openai/gpt-4.1-mini`.',
      scope: 'chat',
      answers: { 200: { says: 'The model.', json: 'Model' } },
      errors: { 404: 'There is no such model.' },
    },
  },
  '/chat': {
    post: {
      tag: 'Clients',
      id: 'chat',
      summary: 'What useChat of the AI SDK posts',
      scope: 'chat',
      body: 'UseChatBody',
      answers: { 200: STREAM },
      errors: ERRORS,
    },
  },
  '/chat/{id}/stream': {
    get: {
      tag: 'Clients',
      id: 'resumeChat',
      summary: 'The answer that is under way, from its start',
      scope: 'chat',
      answers: { 200: STREAM, 204: { says: 'None is.' } },
    },
  },
  '/ag-ui': {
    post: {
      tag: 'Clients',
      id: 'runAgent',
      summary: 'An agent of AG-UI',
      scope: 'chat',
      body: 'RunAgentInput',
      answers: { 200: STREAM },
      errors: ERRORS,
    },
  },
  '/mcp': {
    post: {
      tag: 'Clients',
      id: 'mcp',
      summary: 'The tools of the edge over MCP (Streamable HTTP)',
      description: 'What is refused is a JSON-RPC error.',
      scope: 'tools:read and chat',
      body: 'McpMessage',
      answers: {
        200: { says: 'The JSON-RPC answer.', json: { type: 'object' }, or: 'events' },
        202: { says: 'A notification was taken.' },
      },
    },
  },
  '/health': {
    get: {
      tag: 'Edge',
      id: 'health',
      summary: 'Whether the edge answers',
      answers: { 200: { says: 'It does.', json: { type: 'object', properties: { status: { const: 'ok' } } } } },
    },
  },
  '/openapi.json': {
    get: {
      tag: 'Edge',
      id: 'openapi',
      summary: 'This document',
      answers: { 200: { says: 'OpenAPI 3.1.', json: { type: 'object' } } },
    },
  },
  '/': {
    get: {
      tag: 'Edge',
      id: 'studio',
      summary: 'The studio: a page to try the edge, and to see and steer what runs there',
      answers: { 200: { says: 'The page.', type: 'text/html' } },
    },
  },
}
