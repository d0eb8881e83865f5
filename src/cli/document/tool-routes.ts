import { ref } from './json-schema.ts'
import type { Routes } from './operation.ts'

const UNKNOWN = { 404: 'The tool or version does not exist.' }
const WRITTEN = { says: 'The version that is current now.', json: 'Version' }
const WRITE_ERRORS = {
  412: 'The current version does not match `If-Match` or `If-None-Match`.',
  422: 'The definition is invalid and was not stored; `issues` has the places and reasons.',
}
const IF_MATCH = {
  'If-Match': 'The hash of the version to replace.',
  'If-None-Match': '`*`: store the definition only if the tool has none.',
}

const OWNER = {
  owner:
    '`edge` (scope `tools:admin`) selects the definitions that every tenant has; `tenant` (scope `tools:write`) selects those of the key’s tenant. Default: `edge` for keys with `tools:admin`, else `tenant`.',
}

/** The routes of the tool catalogue. */
export const TOOL_ROUTES: Routes = {
  '/tools': {
    get: {
      tag: 'Tools',
      id: 'listTools',
      summary: 'List tools',
      scope: 'tools:read',
      query: {
        query: 'Search for tools by these words. The best matches come first.',
        source: 'Return only tools of this source: `service`, `kv`, `mcp`, `agent` or `inline`.',
        after: 'Return tools after this name.',
        limit: 'The page size, at most 1000.',
      },
      answers: {
        200: {
          says: 'Tools, sorted by name. Unavailable tools carry a `reason`.',
          json: { type: 'array', items: ref('Tool') },
          headers: {
            'X-Total-Count': {
              description: 'The number of tools on all pages; with `query` at most 1,000, the best matches.',
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
      summary: 'Get a tool',
      scope: 'tools:read',
      answers: { 200: { says: 'The tool.', json: 'Tool' } },
      errors: UNKNOWN,
    },
    put: {
      tag: 'Tools',
      id: 'putTool',
      summary: 'Store a tool definition',
      scope: 'tools:write',
      query: OWNER,
      headers: IF_MATCH,
      body: 'Definition',
      answers: { 200: WRITTEN, 201: WRITTEN },
      errors: WRITE_ERRORS,
    },
    delete: {
      tag: 'Tools',
      id: 'deleteTool',
      summary: 'Delete a stored tool definition',
      description: 'Its versions stay stored, and a rollback restores one.',
      scope: 'tools:write',
      query: OWNER,
      answers: { 204: { says: 'It was deleted.' } },
      errors: { ...UNKNOWN, 422: 'The tool has no stored definition.' },
    },
  },
  '/tools/{name}/check': {
    post: {
      tag: 'Tools',
      id: 'checkTool',
      summary: 'Check a tool definition without storing it',
      description: 'To try it as well, send it to `POST /tools/{name}/call` as `definition`.',
      scope: 'tools:write',
      query: OWNER,
      body: 'Definition',
      answers: {
        200: {
          says: 'Whether the definition can be stored: what that would change, or the places and reasons of its faults.',
          json: { anyOf: [ref('CheckedDefinition'), ref('RefusedDefinition')] },
        },
      },
    },
  },
  '/tools/{name}/versions': {
    get: {
      tag: 'Tools',
      id: 'listVersions',
      summary: 'List the changes of a stored definition, newest first',
      description:
        'The history and versions of a deleted tool, or of one that awaits acceptance, need a key that may write its owner’s definitions. Authors of other tenants are omitted, except for keys with `tools:admin`.',
      scope: 'tools:read',
      query: {
        before: 'Return changes before this revision.',
        limit: 'The page size, at most 1000. Default: 100.',
        ...OWNER,
      },
      answers: { 200: { says: 'The changes.', json: { type: 'array', items: ref('HistoryEntry') } } },
      errors: UNKNOWN,
    },
  },
  '/tools/{name}/versions/{hash}': {
    get: {
      tag: 'Tools',
      id: 'getVersion',
      summary: 'Get a version of a stored definition',
      scope: 'tools:read',
      query: OWNER,
      answers: { 200: { says: 'The definition as it was stored.', json: 'Definition' } },
      errors: UNKNOWN,
    },
  },
  '/tools/{name}/rollback': {
    post: {
      tag: 'Tools',
      id: 'rollbackTool',
      summary: 'Roll back to an earlier version',
      scope: 'tools:write',
      query: OWNER,
      headers: IF_MATCH,
      body: 'HashBody',
      answers: { 200: WRITTEN, 201: WRITTEN },
      errors: { ...UNKNOWN, ...WRITE_ERRORS },
    },
  },
  '/tools/{name}/accept': {
    post: {
      tag: 'Tools',
      id: 'acceptTool',
      summary: 'Accept the changed definition of a tool',
      description:
        'With `HOLD_CHANGED`, a tool whose definition changed after it was accepted is not called until its change is accepted here.',
      scope: 'tools:admin',
      body: 'HashBody',
      answers: { 200: { says: 'The definition is accepted and the tool can be called.', json: 'AcceptedTool' } },
      errors: {
        ...UNKNOWN,
        409: 'The definition has changed again; its hash is another.',
        422: 'The body has no `hash`.',
      },
    },
  },
  '/tools/{name}/call': {
    post: {
      tag: 'Tools',
      id: 'callTool',
      summary: 'Call a tool without a model',
      description:
        'With `definition`, that definition is called as if it were stored; this needs a key that may store it. A call that needs approval takes `decision: "approve"` of a key that has the scope `approve` too, with the `argumentsHash` of the arguments that the person has seen: the SHA-256 of their canonical JSON. With `FOUR_EYES` it takes none.',
      scope: 'chat',
      query: OWNER,
      body: 'CallBody',
      answers: { 200: { says: 'The outcome of the call, even if the tool failed.', json: 'Outcome' } },
      errors: {
        ...UNKNOWN,
        403: 'The key may not approve, or `FOUR_EYES` is set.',
        409: 'The arguments do not match `argumentsHash`.',
        422: 'The arguments do not match the schema, or the tool needs approval.',
      },
    },
  },
  '/outcomes/{token}': {
    post: {
      tag: 'Runs',
      id: 'reportOutcome',
      summary: 'Report progress or the outcome of a call that its tool answers later',
      description: 'The token in the path is all the authorization needed. The same outcome may be sent again.',
      body: 'OutcomeReport',
      answers: {
        200: {
          says: 'The report was taken.',
          json: { type: 'object', properties: { ok: { const: true } }, required: ['ok'] },
        },
      },
      errors: {
        400: 'The body is not a report.',
        404: 'The token names no call.',
        409: 'Nobody waits for the call, or another outcome was reported before.',
        410: 'The token has expired, or the conversation was deleted.',
        413: 'The body is larger than 256 KiB.',
        429: 'Too much was reported on the call within a minute.',
      },
    },
  },
}
