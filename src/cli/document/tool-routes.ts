import { ref } from './json-schema.ts'
import type { Routes } from './operation.ts'

const UNKNOWN = { 404: 'There is no such tool or version.' }
const WRITTEN = { says: 'The version that is the current one now.', json: 'Version' }
const REFUSED = {
  412: 'Another version is the current one than If-Match says.',
  422: 'It is not stored: `issues` say where and why.',
}
const IF_MATCH = {
  'If-Match': 'Hash of the version that is to be replaced.',
  'If-None-Match': '`*`: only if there is none.',
}

const OWNER = {
  owner:
    '`edge` (scope `tools:admin`): the definitions that are there for every tenant; `tenant` (scope `tools:write`): those of the tenant of the key. By default the edge’s for a key with `tools:admin`.',
}

/** The routes of the tool catalogue. */
export const TOOL_ROUTES: Routes = {
  '/tools': {
    get: {
      tag: 'Tools',
      id: 'listTools',
      summary: 'All tools of the edge',
      scope: 'tools:read',
      query: {
        query: 'Words to find tools by; the best of them first.',
        source: '`service`, `kv`, `mcp`, `agent` or `inline`.',
        after: 'The name after which to begin.',
        limit: 'At most 1000.',
      },
      answers: {
        200: {
          says: 'Tools by name; what cannot be had says why.',
          json: { type: 'array', items: ref('Tool') },
          headers: {
            'X-Total-Count': {
              description: 'How many there are in all; with `query`, of the 1,000 that fit it best.',
              schema: { type: 'integer' },
            },
          },
        },
      },
    },
  },
  '/tools/{name}': {
    get: {
      tag: 'Tools',
      id: 'getTool',
      summary: 'A tool',
      scope: 'tools:read',
      answers: { 200: { says: 'The tool.', json: 'Tool' } },
      errors: UNKNOWN,
    },
    put: {
      tag: 'Tools',
      id: 'putTool',
      summary: 'Store a definition',
      scope: 'tools:write',
      query: OWNER,
      headers: IF_MATCH,
      body: 'Definition',
      answers: { 200: WRITTEN, 201: WRITTEN },
      errors: REFUSED,
    },
    delete: {
      tag: 'Tools',
      id: 'deleteTool',
      summary: 'Remove a stored definition',
      description: 'Its versions stay.',
      scope: 'tools:write',
      query: OWNER,
      answers: { 204: { says: 'It is gone.' } },
      errors: { ...UNKNOWN, 422: 'This tool is not a stored one.' },
    },
  },
  '/tools/{name}/versions': {
    get: {
      tag: 'Tools',
      id: 'listVersions',
      summary: 'What happened to a stored definition, newest first',
      description:
        'Of a tool that is gone or held back, only for keys that may write the definitions of its owner; likewise its versions. Authors of other tenants are left out, except for keys with `tools:admin`.',
      scope: 'tools:read',
      query: { before: 'The revision before which to begin.', limit: 'At most 1000; 100 by default.', ...OWNER },
      answers: { 200: { says: 'Its history.', json: { type: 'array', items: ref('HistoryEntry') } } },
      errors: UNKNOWN,
    },
  },
  '/tools/{name}/versions/{hash}': {
    get: {
      tag: 'Tools',
      id: 'getVersion',
      summary: 'A version as it was stored',
      scope: 'tools:read',
      query: OWNER,
      answers: { 200: { says: 'The definition.', json: 'Definition' } },
      errors: UNKNOWN,
    },
  },
  '/tools/{name}/rollback': {
    post: {
      tag: 'Tools',
      id: 'rollbackTool',
      summary: 'Make an older version the current one',
      scope: 'tools:write',
      query: OWNER,
      headers: IF_MATCH,
      body: 'HashBody',
      answers: { 200: WRITTEN, 201: WRITTEN },
      errors: { ...UNKNOWN, ...REFUSED },
    },
  },
  '/tools/{name}/accept': {
    post: {
      tag: 'Tools',
      id: 'acceptTool',
      summary: 'Accept what a changed tool says now',
      description: 'A tool of HOLD_CHANGED that has changed since it was accepted is not called before.',
      scope: 'tools:admin',
      body: 'HashBody',
      answers: { 200: { says: 'It is called again.', json: 'Accepted' } },
      errors: { ...UNKNOWN, 409: 'It says something else by now.', 422: 'The body has no hash.' },
    },
  },
  '/tools/{name}/call': {
    post: {
      tag: 'Tools',
      id: 'callTool',
      summary: 'One call, without a model',
      scope: 'chat',
      body: 'CallBody',
      answers: { 200: { says: 'What it came to, also where the tool failed.', json: 'Outcome' } },
      errors: { ...UNKNOWN, 422: 'The arguments do not fit, or the tool needs an approval.' },
    },
  },
}
