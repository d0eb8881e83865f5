import { input as agUiBody } from '../../wire/client/ag-ui/request.ts'
import { countBody, messagesBody } from '../../wire/client/anthropic-messages/request.ts'
import { chatBody } from '../../wire/client/openai-chat/request.ts'
import { embeddingBody } from '../../wire/client/embeddings.ts'
import { responsesBody } from '../../wire/client/openai-responses/request.ts'
import {
  conversationChangeBody,
  newConversationBody,
  newItemsBody,
} from '../../wire/client/openai-responses/stored-items.ts'
import { useChatBody } from '../../wire/client/ui-message/request.ts'
import { ref } from './json-schema.ts'
import { CONVERSATION, START_ERRORS, ANSWER_ERRORS, RESPONSE_ROUTES } from './response-routes.ts'
import type { Routes } from './operation.ts'

const STREAM = { says: 'The answer, streamed as server-sent events.', type: 'text/event-stream' }

const OWNER = {
  owner:
    '`edge` (scope `tools:admin`) selects the connection that serves all tenants, `tenant` (scope `tools:write`) that of the key’s tenant. Default: `edge` for keys with `tools:admin`, else `tenant`.',
}

const MCP_METADATA = {
  type: 'object',
  properties: {
    resource: { type: 'string', format: 'uri', description: 'The audience to ask for a token for (RFC 8707).' },
    authorization_servers: {
      type: 'array',
      items: { type: 'string', format: 'uri' },
      description: 'The issuers of the identity providers. Absent if there are API keys alone.',
    },
    scopes_supported: { type: 'array', items: { type: 'string' } },
    bearer_methods_supported: { const: ['header'] },
  },
  required: ['resource', 'bearer_methods_supported'],
}

/** The Valibot schemas with which the routes below check requests, by their names in the document. */
export const CLIENT_BODIES = {
  ChatCompletionBody: chatBody,
  ResponseBody: responsesBody,
  OpenAIConversation: newConversationBody,
  OpenAIConversationChange: conversationChangeBody,
  OpenAIItems: newItemsBody,
  EmbeddingBody: embeddingBody,
  MessageBody: messagesBody,
  TokenCountBody: countBody,
  UseChatBody: useChatBody,
  RunAgentInput: agUiBody,
} as const

/** What `?format=` of the routes of runs may be, and what each means. */
export const STREAM_FORMATS = { 'ui-message': 'AI SDK UI message stream', 'ag-ui': 'AG-UI' }

const THREAD_ERRORS = { 404: 'There is no such message.', 410: 'The conversation was deleted.' }

/** The routes of other clients' protocols, and those about the edge itself. */
export const CLIENT_ROUTES: Routes = {
  '/v1/chat/completions': {
    post: {
      tag: 'OpenAI',
      id: 'createChatCompletion',
      summary: 'Create a chat completion',
      description: 'The edge runs its own tools. Calls of the tools listed in `tools` are returned to the caller.',
      scope: 'chat',
      headers: CONVERSATION,
      body: 'ChatCompletionBody',
      answers: {
        200: {
          says: 'The completion, or its chunks if `stream` is true.',
          json: 'ChatCompletion',
          events: 'ChatCompletionChunk',
        },
      },
      errors: START_ERRORS,
    },
  },
  ...RESPONSE_ROUTES,
  '/v1/messages': {
    post: {
      tag: 'Clients',
      id: 'createMessage',
      summary: 'Create a message of Anthropic’s Messages API',
      description:
        'The edge runs its own tools. Calls of the tools listed in `tools` are returned to the caller. The key may also be in the header `x-api-key`.',
      scope: 'chat',
      headers: {
        ...CONVERSATION,
        'anthropic-beta': 'With `mcp-client-…`, the message shows the calls that the edge runs.',
      },
      body: 'MessageBody',
      answers: {
        200: {
          says: 'The message, or its events if `stream` is true.',
          json: 'AnthropicMessage',
          events: 'AnthropicEvent',
        },
      },
      errors: { ...START_ERRORS, 529: 'The edge has more requests than it can answer.' },
    },
  },
  '/v1/messages/count_tokens': {
    post: {
      tag: 'Clients',
      id: 'countTokens',
      summary: 'Estimate the tokens of a message’s request',
      description: 'With the instructions and tools of the edge. No model is asked.',
      scope: 'chat',
      body: 'TokenCountBody',
      answers: {
        200: {
          says: 'The estimate.',
          json: { type: 'object', properties: { input_tokens: { type: 'integer' } }, required: ['input_tokens'] },
        },
      },
      errors: { 404: ANSWER_ERRORS[404] },
    },
  },
  '/v1/embeddings': {
    post: {
      tag: 'OpenAI',
      id: 'createEmbedding',
      summary: 'Create embeddings',
      description:
        'The request is passed to the provider of the model, if that speaks OpenAI’s formats. The tokens that it reports count for the budget of the key.',
      scope: 'chat',
      body: 'EmbeddingBody',
      answers: { 200: { says: 'The embeddings, as the provider sends them.', json: ref('Embeddings') } },
      errors: { ...ANSWER_ERRORS, 404: `${ANSWER_ERRORS[404].slice(0, -1)}, or makes no embeddings here.` },
    },
  },
  '/v1/models': {
    get: {
      tag: 'OpenAI',
      id: 'listModels',
      summary: 'List models',
      description: 'A request with the header `anthropic-version` is answered as by Anthropic.',
      scope: 'chat',
      answers: {
        200: {
          says: 'The models that requests may name, without wildcards.',
          json: { anyOf: [ref('ModelList'), ref('AnthropicModelList')] },
        },
      },
    },
  },
  '/v1/models/{name}': {
    get: {
      tag: 'OpenAI',
      id: 'getModel',
      summary: 'Get a model',
      description:
        'The name may contain slashes, as in `openai/gpt-4.1-mini`. A request with the header `anthropic-version` is answered as by Anthropic.',
      scope: 'chat',
      answers: { 200: { says: 'The model.', json: { anyOf: [ref('Model'), ref('AnthropicModel')] } } },
      errors: { 404: 'The model does not exist.' },
    },
  },
  '/chat': {
    post: {
      tag: 'Clients',
      id: 'chat',
      summary: 'Chat with `useChat` of the AI SDK',
      scope: 'chat',
      body: 'UseChatBody',
      answers: { 200: STREAM },
      errors: START_ERRORS,
    },
  },
  '/chat/{id}': {
    get: {
      tag: 'Clients',
      id: 'listChatMessages',
      summary: 'List the messages of a chat as `UIMessage`s of the AI SDK, oldest first',
      description:
        'As a page has them that was never reloaded, with calls that wait for a decision or for the page. An answer in progress is left out: its stream begins with its start. Empty if the chat does not exist yet.',
      scope: 'chat',
      query: {
        before: 'Return messages before that with this id, or before its turn.',
        limit: 'The most messages, in whole turns, at most 1000. Default: 100.',
      },
      answers: {
        200: { says: 'The newest messages before `before`.', json: { type: 'array', items: ref('UiMessage') } },
      },
      errors: THREAD_ERRORS,
    },
  },
  '/chat/{id}/stream': {
    get: {
      tag: 'Clients',
      id: 'resumeChat',
      summary: 'Resume the stream of the answer in progress, from its start',
      scope: 'chat',
      answers: { 200: STREAM, 204: { says: 'No answer is in progress.' } },
    },
  },
  '/ag-ui': {
    post: {
      tag: 'Clients',
      id: 'runAgent',
      summary: 'Run the edge as an AG-UI agent',
      description: '`forwardedProps.edgecall` has the members of RunOptions.',
      scope: 'chat',
      body: 'RunAgentInput',
      answers: { 200: STREAM },
      errors: START_ERRORS,
    },
  },
  '/ag-ui/{id}': {
    get: {
      tag: 'Clients',
      id: 'getAgentThread',
      summary: 'Get the messages of an AG-UI thread, and what its last run waits for',
      description: 'As a client has them that has read all its runs. An answer in progress is left out.',
      scope: 'chat',
      query: {
        before: 'Return messages before that with this id, or before its turn.',
        limit: 'The most messages of users and answers, in whole turns, at most 1000. Default: 100.',
      },
      answers: { 200: { says: 'The thread. It is empty if it does not exist yet.', json: 'AgUiThread' } },
      errors: THREAD_ERRORS,
    },
  },
  '/mcp': {
    get: {
      tag: 'Clients',
      id: 'mcpEvents',
      summary: 'Listen for notifications of the MCP server',
      description: 'The stream has `notifications/tools/list_changed` whenever the tools change.',
      scope: 'tools:read',
      headers: {
        'Last-Event-ID': 'Continue the stream of a call after this event. Only what waits for a person has ids.',
      },
      answers: { 200: { says: 'The notifications as they happen, or the rest of the stream.', events: 'McpMessage' } },
      errors: { 400: 'This session has no stream with this event.' },
    },
    post: {
      tag: 'Clients',
      id: 'mcp',
      summary: 'Send a message to the MCP server (Streamable HTTP)',
      description: 'Serves the tools of the edge. Errors are JSON-RPC errors.',
      scope: 'tools:read and chat',
      body: 'McpMessage',
      answers: {
        200: { says: 'The JSON-RPC response.', json: 'McpMessage', events: 'McpMessage' },
        202: { says: 'The notification, or the reply to a question, was accepted.' },
      },
      errors: {
        401: 'The key or token is missing or invalid. `WWW-Authenticate` names the metadata and the scopes to ask for.',
        403: 'The key or token lacks a scope. `WWW-Authenticate` names the scopes to ask for.',
      },
    },
  },
  '/.well-known/oauth-protected-resource': {
    get: {
      tag: 'Clients',
      id: 'mcpMetadata',
      summary: 'Get the metadata of `/mcp` as an OAuth 2.0 protected resource (RFC 9728)',
      description: 'Clients find there which identity provider to sign in with, and which scopes to ask for.',
      answers: { 200: { says: 'The metadata.', json: MCP_METADATA } },
    },
  },
  '/.well-known/oauth-protected-resource/mcp': {
    get: {
      tag: 'Clients',
      id: 'mcpMetadataByPath',
      summary: 'Get the metadata of `/mcp`, at the address made of its path',
      answers: { 200: { says: 'The metadata.', json: MCP_METADATA } },
    },
  },
  '/connections': {
    get: {
      tag: 'Tools',
      id: 'listConnections',
      summary: 'List the servers that the edge gets access to by OAuth',
      description: 'The tenant’s own; keys with `tools:admin` also see those of the edge.',
      scope: 'tools:read',
      answers: { 200: { says: 'The connections.', json: { type: 'array', items: ref('Connection') } } },
      errors: { 404: 'The edge has no connections.' },
    },
  },
  '/connections/{server}': {
    post: {
      tag: 'Tools',
      id: 'signIn',
      summary: 'Begin a sign-in to a server',
      description:
        'A person opens the `url`, and comes back to `/connections/callback`. Without a `url`, the edge has credentials of its own. The body may be absent.',
      scope: 'tools:write',
      query: OWNER,
      body: 'SignInBody',
      answers: {
        200: {
          says: 'The address to open, and the authorization server.',
          json: {
            type: 'object',
            properties: { issuer: { type: 'string' }, url: { type: 'string' } },
            required: ['issuer'],
          },
        },
      },
      errors: {
        409: 'The server names an authorization server that nobody has accepted.',
        422: 'There is no such server, or nobody can sign in to it now.',
      },
    },
    put: {
      tag: 'Tools',
      id: 'confirmSignIn',
      summary: 'End a sign-in that another browser has come back from',
      description: 'The page at `/connections/callback` shows the code to a browser that did not ask for the sign-in.',
      scope: 'tools:write',
      query: OWNER,
      body: 'SignInCode',
      answers: {
        200: {
          says: 'The connection holds.',
          json: { type: 'object', properties: { server: { type: 'string' } }, required: ['server'] },
        },
      },
      errors: { 422: 'The code is wrong, or no sign-in waits for one.' },
    },
    delete: {
      tag: 'Tools',
      id: 'disconnect',
      summary: 'Forget the tokens of a connection',
      scope: 'tools:write',
      query: OWNER,
      answers: { 204: { says: 'The tokens are forgotten.' } },
      errors: { 404: 'There is no such connection.' },
    },
  },
  '/connections/callback': {
    get: {
      tag: 'Edge',
      id: 'finishSignIn',
      summary: 'End a sign-in',
      description:
        'Where authorization servers send people back to. The browser that asked for the sign-in has a cookie; any other is shown a code.',
      query: { state: 'As it was sent.', code: 'The code to exchange for tokens.', iss: 'The authorization server.' },
      answers: { 200: { says: 'The connection holds, or the code to enter.', type: 'text/plain' } },
      errors: { 400: 'The sign-in is not known, took too long, or was refused.' },
    },
  },
  '/metrics': {
    get: {
      tag: 'Edge',
      id: 'metrics',
      summary: 'Get the metrics of the tenant, or of all tenants',
      scope: 'metrics',
      query: {
        tenants: '`all`: those of up to 150 tenants, each series with its `tenant`. This needs the scope `keys` too.',
        after: 'With `tenants`: the tenant after which the answer begins.',
      },
      answers: { 200: { says: 'OpenMetrics text.', type: 'application/openmetrics-text' } },
    },
  },
  '/health': {
    get: {
      tag: 'Edge',
      id: 'health',
      summary: 'Check that the edge is up',
      answers: { 200: { says: 'The edge is up.', json: { type: 'object', properties: { status: { const: 'ok' } } } } },
    },
  },
  '/openapi.json': {
    get: {
      tag: 'Edge',
      id: 'openapi',
      summary: 'Get this document',
      answers: { 200: { says: 'The OpenAPI 3.1 document.', json: { type: 'object' } } },
    },
  },
  '/': {
    get: {
      tag: 'Edge',
      id: 'studio',
      summary: 'Open the studio, a page to try the edge and to inspect and control its runs',
      answers: { 200: { says: 'The HTML page.', type: 'text/html' } },
    },
  },
}
