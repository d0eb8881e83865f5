import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { skillText } from '../project/coding-guide.ts'
import { ANSWERS } from './answers.ts'
import { bodySchemas } from './bodies.ts'
import { CLIENT_ROUTES } from './client-routes.ts'
import { configurationPages } from './configuration.ts'
import { withDialects } from './dialects.ts'
import { runEventsPage } from './run-events.ts'
import { withMailRules } from './mail-rules.ts'
import { withWebhookServices } from './webhook-services.ts'
import { errorPages } from './errors/page.ts'
import { eventSchemas } from './events.ts'
import { ref, text } from './json-schema.ts'
import { memberPages } from './members.ts'
import { applicationPages } from './applications.ts'
import { operationOf, type Routes } from './operation.ts'
import { withPlatformLimits } from './platform-limits.ts'
import { MISSING_RUN, RUN_ROUTES } from './run-routes.ts'
import { SCHEDULE_ROUTES } from './schedule-routes.ts'
import { toolFieldsText } from './tool-fields.ts'
import { TOOL_ROUTES } from './tool-routes.ts'
import { isObject, type JsonObject } from '../../contract/json.ts'

/** The routes by which operators look into the runs of conversations, and resume them. */
const OPERATOR_ROUTES: Routes = {
  '/conversations/{id}/runs/{run}/steps/{step}/request': {
    get: {
      tag: 'Runs',
      id: 'getStepRequest',
      summary: 'Get the request that the model got in a step',
      description:
        'It is built again from the events of the run, before hooks and the provider’s format change it. Messages of earlier turns are chosen by the present window and summary.',
      scope: 'tools:admin and chat',
      answers: { 200: { says: 'The last request of the step.', json: 'StepRequest' } },
      errors: { ...MISSING_RUN, 400: '`step` is not a whole number from 1.' },
    },
  },
  '/conversations/{id}/runs/{run}/faults': {
    get: {
      tag: 'Runs',
      id: 'listFaults',
      summary: 'List the faults of a run, with their details for operators',
      description:
        'Failed requests to models, failed calls, and errors of hooks, as they are logged. At most 50 of a run, for `FAULT_DAYS` days.',
      scope: 'tools:admin and chat',
      answers: { 200: { says: 'The faults, in the order in which they happened.', json: 'Faults' } },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/runs/{run}/retry': {
    post: {
      tag: 'Runs',
      id: 'retryRun',
      summary: 'Resume a parked run',
      description: 'A run is parked if its conversation crashed three times while resuming it.',
      scope: 'chat',
      answers: { 200: { says: 'The run in its current state.', json: 'Run' } },
      errors: { ...MISSING_RUN, 409: 'The run is not parked.' },
    },
  },
}

const UNKNOWN = {
  404: 'The conversation does not exist, or it belongs to another tenant.',
}

/** The routes that copy conversations and take them back in time. */
const BACKUP_ROUTES: Routes = {
  '/backups/{id}': {
    get: {
      tag: 'Conversations',
      id: 'copyConversation',
      summary: 'Copy a conversation',
      description:
        'An exact copy of any size, which `PUT` takes. A copy of more than about 4 MiB is in parts, one after the other. Each ends with a line of the `type` `end`, and names the place of the one after it (`next`). The copy shows the conversation as it stood when the copy began. It is signed if the deployment has an `OUTCOME_SECRET`.',
      scope: 'backup',
      query: { after: 'Where to continue with a copy that broke off: `next` of its last complete part.' },
      answers: {
        200: {
          says: 'One JSON value per line: for each part what it is of, each row of the tables, and the end.',
          type: 'application/x-ndjson',
        },
      },
      errors: {
        ...UNKNOWN,
        409: 'A turn was replaced since the copy began (`conversation_changed`), or the conversation itself is being restored.',
        410: 'The conversation was deleted.',
      },
    },
    put: {
      tag: 'Conversations',
      id: 'restoreConversation',
      summary: 'Restore a conversation from a copy',
      description:
        'The body is a copy, or some of the parts of one: the others follow in further requests, in their order. Nobody can use the conversation before the last part, and it is discarded a day after the last request. Runs that had not ended are cancelled in the new conversation. A copy that this deployment has not signed for this tenant and id counts as written by the caller: its requests are checked, and nothing in it is anybody else’s.',
      scope: 'backup',
      answers: {
        201: {
          says: 'The conversation is there. `signed`: whether the copy counts as made by this deployment.',
          json: 'RestoredConversation',
        },
        202: { says: 'The conversation has the parts up to `part`, and needs the next.', json: 'RestoredConversation' },
      },
      errors: {
        409: 'A conversation with this id exists, or the part does not follow the one before (`copy_out_of_order`).',
        413: 'A part of the copy has more than 30 MiB.',
        422: 'The copy is damaged, or has values that no request may have.',
      },
    },
  },
  '/backups/{id}/rewind': {
    post: {
      tag: 'Conversations',
      id: 'rewindConversation',
      summary: 'Take a conversation back to an earlier time',
      description:
        'Any time within the last 30 days, also one before the conversation was deleted. Runs under way are cancelled.',
      scope: 'backup',
      body: 'RewindBody',
      answers: { 202: { says: 'The conversation is taken back.', json: 'ConversationReference' } },
      errors: { ...UNKNOWN, 501: 'This platform keeps no earlier states, or none of that time.' },
    },
  },
}

const UNKNOWN_KEY = { 404: 'No key with this id is stored.' }
const SCOPES = { 403: 'The caller lacks the scope, or one of those of the key.' }

/** The routes by which operators make and change stored API keys. */
const KEY_ROUTES: Routes = {
  '/keys': {
    get: {
      tag: 'Keys',
      id: 'listKeys',
      summary: 'List the stored API keys of all tenants',
      description: 'Sorted by id, 100 on a page, without those of `API_KEYS`.',
      scope: 'keys',
      query: { after: 'Where the page begins: `next` of the page before.' },
      answers: { 200: { says: 'A page of keys, without their hashes.', json: 'KeyPage' } },
    },
    post: {
      tag: 'Keys',
      id: 'createKey',
      summary: 'Make an API key',
      description: 'The answer has the key, which is shown this once. It can have no scope that the caller lacks.',
      scope: 'keys',
      body: 'KeyBody',
      answers: { 201: { says: 'The key, and what it may do.', json: 'NewKey' } },
      errors: { ...SCOPES, 409: 'There is a key with this id.' },
    },
  },
  '/keys/{id}': {
    patch: {
      tag: 'Keys',
      id: 'changeKey',
      summary: 'Change or disable a stored API key',
      description:
        'Null removes a term. A body of `disabled: true` alone disables any key; other changes need the scopes of the key.',
      scope: 'keys',
      body: 'KeyChange',
      answers: { 200: { says: 'The key as it is now.', json: 'StoredKey' } },
      errors: { ...UNKNOWN, ...SCOPES },
    },
    delete: {
      tag: 'Keys',
      id: 'deleteKey',
      summary: 'Remove a stored API key',
      scope: 'keys',
      answers: { 204: { says: 'The key is removed.' } },
      errors: UNKNOWN_KEY,
    },
  },
  '/keys/{id}/rotate': {
    post: {
      tag: 'Keys',
      id: 'rotateKey',
      summary: 'Replace the secret of a stored API key',
      description: 'With `keepOld`, the one before works too, until the key is rotated again.',
      scope: 'keys',
      body: 'KeyRotation',
      answers: { 200: { says: 'The new key, which is shown this once, and what it may do.', json: 'NewKey' } },
      errors: { ...UNKNOWN, ...SCOPES },
    },
  },
}

/** The file of the JSON document. Its name ends in `.txt` because wrangler bundles such a file as text. */
const FILE = 'src/http/openapi.txt'

const ROUTES = {
  ...CLIENT_ROUTES,
  ...RUN_ROUTES,
  ...SCHEDULE_ROUTES,
  ...OPERATOR_ROUTES,
  ...BACKUP_ROUTES,
  ...KEY_ROUTES,
  ...TOOL_ROUTES,
}

const TAGS = {
  OpenAI: 'The APIs of OpenAI, for its clients and compatible ones.',
  Runs: 'A run takes one input and calls the model and tools until it has an answer.',
  Conversations: 'A conversation stores messages and runs, so that later runs see earlier ones.',
  Schedules: 'Runs that start by themselves.',
  Tools: 'The tools that models can call, and their stored definitions.',
  Keys: 'API keys that operators make and change without a deployment.',
  Clients: 'The protocols of other clients, such as the AI SDK and MCP.',
  Edge: 'The edge itself. These routes need no API key.',
}

/** Makes the OpenAPI 3.1 document of the edge: its routes, and the schemas that check requests. */
function openApiDocument(version: string): JsonObject {
  return withOpenObjects({
    openapi: '3.1.0',
    info: { title: 'Edgecall', version, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      Object.entries(ROUTES).map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, route]) => [method, operationOf(path, route)])),
      ]),
    ),
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key from `API_KEYS`, or a token from a configured identity provider.',
        },
      },
      responses: {
        Problem: {
          description: 'An error, as problem details (RFC 9457).',
          content: { 'application/problem+json': { schema: ref('Problem') } },
        },
        AnthropicError: {
          description: 'An error in Anthropic’s format.',
          content: { 'application/json': { schema: ref('AnthropicError') } },
        },
        OpenAIError: {
          description: 'An error in OpenAI’s format.',
          content: { 'application/json': { schema: ref('OpenAIError') } },
        },
        ModelsError: {
          description:
            'An error in OpenAI’s format. For a request with the header `anthropic-version`, in Anthropic’s.',
          content: { 'application/json': { schema: { anyOf: [ref('OpenAIError'), ref('AnthropicError')] } } },
        },
        ChatError: {
          description:
            'An error, as problem details (RFC 9457). For a request that accepts any type, a sentence for the page; the header `edgecall-error` has the code.',
          content: { 'application/problem+json': { schema: ref('Problem') }, 'text/plain': { schema: text } },
        },
        SignInError: {
          description: 'A sentence for the person who signs in.',
          content: { 'application/problem+json': { schema: ref('Problem') }, 'text/plain': { schema: text } },
        },
        McpError: {
          description: 'An error of JSON-RPC.',
          content: { 'application/json': { schema: ref('McpError') } },
        },
      },
      schemas: { ...bodySchemas(), ...ANSWERS, ...eventSchemas() },
    },
  })
}

/** Says of each object without named members that it may have any: generators of types take it for an empty object. */
function withOpenObjects<Value>(value: Value): Value
function withOpenObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOpenObjects)
  if (!isObject(value)) return value
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withOpenObjects(member)]))
  const isBare = value['type'] === 'object' && !hasMembers(value['properties']) && !('additionalProperties' in value)
  return isBare ? { ...members, additionalProperties: true } : members
}

function hasMembers(properties: unknown): boolean {
  return isObject(properties) && Object.keys(properties).length > 0
}

/** Formats the document as it is bundled, with a line for each path and schema, so that diffs are readable. */
export function documentText(root: string): string {
  const { paths, components, ...rest } = openApiDocument(versionOf(root))
  const { schemas, ...others } = isObject(components) ? components : {}
  const head = JSON.stringify({ ...rest, paths: 0 }).replace(/0\}$/, '')
  const tail = JSON.stringify({ ...others, schemas: 0 }).replace(/0\}$/, '')
  return `${head}${lines(paths)},\n"components":${tail}${lines(schemas)}}}\n`
}

/** Returns the pages of docs/ that are made from tables, in whole or in part, by file. */
export function documentPages(root: string): Readonly<Record<string, string>> {
  return {
    ...configurationPages(),
    ...memberPages(),
    ...applicationPages(),
    ...errorPages(),
    'run-events.md': runEventsPage(root),
    'schemas.md': withDialects(readFileSync(join(root, 'docs/schemas.md'), 'utf8')),
    'webhooks.md': withWebhookServices(readFileSync(join(root, 'docs/webhooks.md'), 'utf8')),
    'events.md': withMailRules(readFileSync(join(root, 'docs/events.md'), 'utf8')),
    'limits.md': withPlatformLimits(readFileSync(join(root, 'docs/limits.md'), 'utf8')),
    'tool-definition.md': toolFieldsText(),
    'skills/edgecall/SKILL.md': skillText(),
  }
}

/** Writes the OpenAPI document, which the edge imports, and the texts of docs/ that are made from tables. */
export function writeDocument(root: string): void {
  mkdirSync(join(root, 'docs'), { recursive: true })
  const pages = Object.entries(documentPages(root)).map(([file, text]) => [`docs/${file}`, text] as const)
  for (const [file, text] of [[FILE, documentText(root)] as const, ...pages]) {
    writeFileSync(join(root, file), text)
    process.stdout.write(`wrote ${file}\n`)
  }
}

function versionOf(root: string): string {
  const read: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return isObject(read) ? String(read['version']) : ''
}

function lines(members: unknown): string {
  const all = isObject(members) ? Object.entries(members) : []
  return `{\n${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',\n')}\n}`
}
