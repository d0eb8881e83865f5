import type { JsonObject, JsonSchema } from '../../contract/json.ts'
import { ref, text } from './json-schema.ts'

/**
 * The content of a successful answer: JSON, with a schema or the name of one, or text of another type. `events` names the
 * schema of the data of each server-sent event, if the answer can be streamed.
 */
export type RouteAnswer =
  | {
      readonly says: string
      readonly json: string | JsonSchema
      readonly events?: string
      readonly headers?: JsonObject
    }
  | { readonly says: string; readonly type?: string }

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

const KEYED = { 401: 'The API key is missing or invalid.', 403: 'The API key lacks the required scope.' }
const WITH_BODY = {
  400: 'The body is malformed, or it names something that does not exist.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
}

function errorsOf(path: string, { scope, body, errors }: DocumentedRoute): JsonObject {
  const isAnthropic = path.startsWith('/v1/messages')
  const form = isAnthropic ? 'AnthropicError' : path.startsWith('/v1/') ? 'OpenAIError' : 'Problem'
  const all = { ...(scope !== undefined && KEYED), ...(body !== undefined && WITH_BODY), ...errors }
  const answer = (description: string) => ({ $ref: `#/components/responses/${form}`, description })
  return { ...mapped(all, answer), default: answer('Any other error; see its `code`.') }
}

function responseOf(answer: RouteAnswer): JsonObject {
  const { says: description } = answer
  if (!('json' in answer)) {
    const { type } = answer
    if (type === 'events') return { description, content: eventStream('RunEvent') }
    return { description, ...(type !== undefined && { content: { [type]: { schema: text } } }) }
  }
  const { json, events, headers } = answer
  const schema = typeof json === 'string' ? ref(json) : json
  const content = { 'application/json': { schema }, ...(events !== undefined && eventStream(events)) }
  return { description, ...(headers && { headers }), content }
}

function mapped<Value>(record: Readonly<Record<string, Value>>, make: (value: Value) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, make(value)]))
}
