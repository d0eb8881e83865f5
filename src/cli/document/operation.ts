import type { JsonObject, JsonSchema } from '../../contract/json.ts'
import { ref, text } from './json-schema.ts'

/**
 * The content of a successful answer: JSON, with a schema or the name of one, or text of another type. `events` names the
 * schema of the data of each server-sent event, if the answer is streamed or can be.
 */
export interface RouteAnswer {
  readonly says: string
  readonly json?: string | JsonSchema
  readonly events?: string
  readonly type?: string
  readonly headers?: JsonObject
}

export interface DocumentedRoute {
  readonly tag: 'OpenAI' | 'Runs' | 'Conversations' | 'Schedules' | 'Tools' | 'Keys' | 'Clients' | 'Edge'
  /** The unique `operationId`, after which code generators name functions. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  /** The scope that the API key needs. Default: no key is needed. */
  readonly scope?: string
  readonly query?: Readonly<Record<string, string>>
  /** The descriptions of request headers, by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** The name of the body's schema. */
  readonly body?: string
  readonly bodyIsOptional?: true
  readonly answers: Readonly<Record<number, RouteAnswer>>
  /** The descriptions of this route's errors, by status. The errors of any route with a key or a body are added. */
  readonly errors?: Readonly<Record<number, string>>
}

/** Routes by path and method, such as `{ '/runs': { post: … } }`. */
export type Routes = Readonly<Record<string, Readonly<Record<string, DocumentedRoute>>>>

/** The scope of a route that answers any key. */
export const ANY_KEY = 'none; any key'

/** The size of a page. */
const LIMIT = { type: 'integer', minimum: 1, maximum: 1000 }

/** Converts a route to an OpenAPI operation. */
export function operationOf(path: string, route: DocumentedRoute): JsonObject {
  const { tag, id, summary, scope, body } = route
  const description = [route.description, scope && `Required scope: ${scope}.`].filter(Boolean).join(' ')
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      name,
      in: 'path',
      required: true,
      description: pathText(path, name),
      schema: text,
    })),
    ...Object.entries(route.query ?? {}).map(([name, meaning]) => ({
      name,
      in: 'query',
      description: meaning,
      schema: name === 'limit' ? LIMIT : text,
    })),
    ...Object.entries(route.headers ?? {}).map(([name, meaning]) => ({
      name,
      in: 'header',
      description: meaning,
      schema: text,
    })),
  ]
  return {
    tags: [tag],
    operationId: id,
    summary,
    ...(description !== '' && { description }),
    ...(scope === undefined && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: route.bodyIsOptional !== true,
        content: { 'application/json': { schema: ref(body) } },
      },
    }),
    responses: { ...mapped(route.answers, responseOf), ...errorsOf(path, route) },
  }
}

/** The descriptions of path parameters. `id` and `name` stand for what the first segments of a path say. */
const PATH_TEXTS: Readonly<Record<string, string>> = {
  call: 'The id of the call.',
  hash: 'The hash of the version.',
  id: 'The id of the conversation.',
  item: 'The id of the item.',
  name: 'The name of the tool.',
  run: 'The id of the run.',
  server: 'The name of the server in `MCP_SERVERS`.',
  '/ag-ui/id': 'The id of the thread.',
  '/chat/id': 'The id of the chat, as the AI SDK sent it.',
  '/schedules/name': 'The name of the schedule.',
  '/v1/models/name': 'The name of the model.',
  '/v1/responses/id': 'The id of the response.',
}

function pathText(path: string, name: string): string | undefined {
  return PATH_TEXTS[`${path.slice(0, path.indexOf('/{'))}/${name}`] ?? PATH_TEXTS[name]
}

/** Describes server-sent events, whose data have the schema of this name. */
function eventStream(name: string): JsonObject {
  const schema = {
    type: 'string',
    description: `Server-sent events. The \`data\` of each event is a \`${name}\`.`,
    contentMediaType: 'text/event-stream',
    contentSchema: ref(name),
  }
  return { 'text/event-stream': { schema } }
}

const NO_KEY = { 401: 'The API key is missing or invalid.' }
const NO_SCOPE = { 403: 'The API key lacks the required scope.' }
const WITH_BODY = {
  400: 'The body is malformed, or it names something that does not exist.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
}

/** The forms of errors, by the beginnings of the paths whose clients know them. */
const ERROR_FORMS = {
  '/v1/messages': 'AnthropicError',
  '/v1/models': 'ModelsError',
  '/v1/': 'OpenAIError',
  '/chat': 'ChatError',
  '/mcp': 'McpError',
  '/connections/callback': 'SignInError',
  '/': 'Problem',
}

function errorsOf(path: string, { scope, body, errors }: DocumentedRoute): JsonObject {
  const [, form = ''] = Object.entries(ERROR_FORMS).find(([under]) => path.startsWith(under)) ?? []
  const all = {
    ...(scope !== undefined && NO_KEY),
    ...(scope !== undefined && scope !== ANY_KEY && NO_SCOPE),
    ...(body !== undefined && WITH_BODY),
    ...errors,
  }
  const answer = (description: string) => ({ $ref: `#/components/responses/${form}`, description })
  return { ...mapped(all, answer), default: answer('Any other error; see its `code`.') }
}

function responseOf({ says: description, json, events, type, headers }: RouteAnswer): JsonObject {
  const content = {
    ...(json !== undefined && { 'application/json': { schema: typeof json === 'string' ? ref(json) : json } }),
    ...(type !== undefined && { [type]: { schema: text } }),
    ...(events !== undefined && eventStream(events)),
  }
  return { description, ...(headers && { headers }), ...(Object.keys(content).length > 0 && { content }) }
}

function mapped<Value>(record: Readonly<Record<string, Value>>, make: (value: Value) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, make(value)]))
}
