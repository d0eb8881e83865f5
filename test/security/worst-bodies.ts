import type { Targets } from './world.ts'
import { BODIES } from './routes.ts'

/** Bodies that cost the most of what a bound of bytes lets in. */

/** Returns JSON of at most so many bytes: what `make` returns for as many parts as fit. */
export function fill(most: number, make: (parts: number) => unknown): string {
  const size = (parts: number) => Buffer.byteLength(JSON.stringify(make(parts)))
  const [one, hundred] = [size(1), size(101)]
  const each = Math.max(1, (hundred - one) / 100)
  let parts = Math.max(1, Math.floor((most - one) / each))
  let text = JSON.stringify(make(parts))
  while (Buffer.byteLength(text) > most && parts > 1) {
    parts = Math.floor(parts * 0.95)
    text = JSON.stringify(make(parts))
  }
  return text
}

function times<Value>(count: number, make: (at: number) => Value): Value[] {
  return Array.from({ length: count }, (_, at) => make(at))
}

/** All of these are as long, so that bodies are too. */
const keyAt = (at: number) => `k${String(at).padStart(6, '0')}`
const membersOf = (count: number, make: (at: number) => unknown) =>
  Object.fromEntries(times(count, (at) => [keyAt(at), make(at)]))
const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)])

/** What costs the most in any object: members, values, levels, and characters that are escaped or counted apart. */
const ANYWHERE: Readonly<Record<string, (body: object, parts: number) => object>> = {
  members: (body, parts) => ({ ...body, ...membersOf(parts, (at) => at) }),
  values: (body, parts) => ({ ...body, more: times(parts, () => 0) }),
  objects: (body, parts) => ({ ...body, more: times(parts, () => ({})) }),
  levels: (body, parts) => ({ ...body, more: times(parts, () => nested(90)) }),
}

const TEXTS = [' ', '\ud83d']

/** Returns the body with each of its lists in turn as long as it may be, and each of its texts. */
function* inflated(body: unknown, most: number): Generator<[string, string]> {
  for (const [path, value, replace] of placesIn(body)) {
    if (typeof value === 'string')
      for (const text of TEXTS)
        yield [`${path} of ${JSON.stringify(text)}`, fill(most, (parts) => replace(text.repeat(parts)))]
    if (Array.isArray(value) && value.length > 0)
      yield [`${path} of many`, fill(most, (parts) => replace(times(parts, () => value[0])))]
  }
}

function* placesIn(
  value: unknown,
  path = '',
  replace: (value: unknown) => unknown = (other) => other,
): Generator<[string, unknown, (value: unknown) => unknown]> {
  if (path !== '') yield [path, value, replace]
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    const put = (other: unknown) =>
      replace(
        Array.isArray(value)
          ? value.map((each, at) => (at === Number(key) ? other : each))
          : { ...value, [key]: other },
      )
    yield* placesIn(member, `${path}.${key}`, put)
  }
}

const user = { role: 'user', content: 'Hello' }
const schema = (parts: number) => ({ type: 'object', properties: membersOf(parts, () => ({ type: 'string' })) })
const oneOf = (parts: number) => ({ type: 'object', anyOf: times(parts, (at) => ({ required: [keyAt(at)] })) })

type Make = (parts: number) => object

/** Further bodies for each schema of the document that has lists of its own; `body` is a valid one. */
export const WORST: Readonly<Record<string, (body: any) => readonly Make[]>> = {
  ChatCompletionBody: (body) => [
    (parts) => ({ ...body, messages: times(parts, (at) => ({ ...user, role: at % 2 ? 'assistant' : 'user' })) }),
    (parts) => ({ ...body, messages: [{ role: 'user', content: times(parts, () => ({ type: 'text', text: 'a' })) }] }),
    (parts) => ({ ...body, tools: times(parts, (at) => ({ type: 'function', function: { name: `t${at}` } })) }),
    (parts) => ({ ...body, tools: [{ type: 'function', function: { name: 't', parameters: schema(parts) } }] }),
    (parts) => ({ ...body, tools: [{ type: 'function', function: { name: 't', parameters: oneOf(parts) } }] }),
    (parts) => ({ ...body, messages: calls(parts) }),
    (parts) => ({ ...body, stop: times(parts, () => 'a') }),
    (parts) => ({ ...body, metadata: membersOf(parts, () => 'a') }),
    (parts) => ({
      ...body,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: schema(parts) } },
    }),
  ],
  ResponseBody: (body) => [
    (parts) => ({ ...body, input: times(parts, () => user) }),
    (parts) => ({
      ...body,
      input: times(parts, (at) => ({ type: 'function_call_output', call_id: `c${at}`, output: 'a' })),
    }),
    (parts) => ({
      ...body,
      input: times(parts, (at) => ({ type: 'function_call', call_id: `c${at}`, name: 't', arguments: '{}' })).flatMap(
        (call) => [call, { type: 'function_call_output', call_id: call.call_id, output: 'a' }],
      ),
    }),
    (parts) => ({ ...body, tools: times(parts, (at) => ({ type: 'function', name: `t${at}`, parameters: {} })) }),
    (parts) => ({ ...body, tools: [{ type: 'function', name: 't', parameters: schema(parts) }] }),
    (parts) => ({ ...body, metadata: membersOf(parts, () => 'a') }),
  ],
  OpenAIConversation: (body) => [(parts) => ({ ...body, items: times(parts, () => user) })],
  OpenAIConversationChange: (body) => [(parts) => ({ ...body, metadata: membersOf(parts, () => 'a') })],
  OpenAIItems: (body) => [(parts) => ({ ...body, items: times(parts, () => user) })],
  EmbeddingBody: (body) => [(parts) => ({ ...body, input: times(parts, () => 'a') })],
  MessageBody: (body) => [
    (parts) => ({ ...body, messages: times(parts, (at) => ({ ...user, role: at % 2 ? 'assistant' : 'user' })) }),
    (parts) => ({ ...body, tools: times(parts, (at) => ({ name: `t${at}`, input_schema: {} })) }),
    (parts) => ({ ...body, tools: [{ name: 't', input_schema: schema(parts) }] }),
    (parts) => ({ ...body, system: times(parts, () => ({ type: 'text', text: 'a' })) }),
  ],
  TokenCountBody: (body) => [(parts) => ({ ...body, messages: times(parts, () => user) })],
  UseChatBody: (body) => [
    (parts) => ({
      ...body,
      messages: times(parts, (at) => ({
        id: `m${at}`,
        role: at % 2 ? 'assistant' : 'user',
        parts: [{ type: 'text', text: 'a' }],
      })),
    }),
    (parts) => ({ ...body, messages: [{ role: 'user', parts: times(parts, () => ({ type: 'text', text: 'a' })) }] }),
  ],
  RunAgentInput: (body) => [
    (parts) => ({ ...body, messages: times(parts, (at) => ({ id: `m${at}`, ...user })) }),
    (parts) => ({ ...body, tools: times(parts, (at) => ({ name: `t${at}`, description: '', parameters: {} })) }),
    (parts) => ({ ...body, context: times(parts, () => ({ description: 'a', value: 'a' })) }),
  ],
  McpMessage: (body) => [
    (parts) => ({ ...body, params: { ...body.params, arguments: membersOf(parts, () => 1) } }),
    (parts) => ({ ...body, params: { ...body.params, _meta: membersOf(parts, () => 1) } }),
  ],
  RunBody: (body) => [
    (parts) => ({ ...body, input: times(parts, (at) => ({ ...user, role: at % 2 ? 'assistant' : 'user' })) }),
    (parts) => ({ ...body, input: [{ role: 'user', content: times(parts, () => ({ type: 'text', text: 'a' })) }] }),
    (parts) => ({ ...body, tools: times(parts, (at) => `t${at}`) }),
    (parts) => ({ ...body, tools: { remove: times(parts, (at) => `t${at}`) } }),
    (parts) => ({ ...body, clientTools: times(parts, (at) => ({ name: `t${at}` })) }),
    (parts) => ({ ...body, clientTools: [{ name: 't', inputSchema: schema(parts) }] }),
    (parts) => ({ ...body, clientTools: [{ name: 't', inputSchema: oneOf(parts) }] }),
    (parts) => ({ ...body, context: membersOf(parts, () => 1) }),
    (parts) => ({ ...body, metadata: membersOf(parts, () => 'a') }),
    (parts) => ({ ...body, limits: { tools: membersOf(parts, () => 1) } }),
    (parts) => ({ ...body, responseFormat: { type: 'json_schema', name: 'a', schema: schema(parts) } }),
  ],
  ConversationBody: (body) => [
    (parts) => ({ ...body, metadata: membersOf(parts, () => 'a') }),
    (parts) => ({ ...body, context: membersOf(parts, () => 'a') }),
  ],
  ForkBody: () => [],
  CallAnswer: () => [(parts) => ({ result: membersOf(parts, () => 1) })],
  Definition: (body) => [
    (parts) => ({ ...body, inputSchema: schema(parts) }),
    (parts) => ({ ...body, inputSchema: oneOf(parts) }),
    (parts) => ({
      ...body,
      inputSchema: { type: 'object', $defs: membersOf(parts, (at) => ({ $ref: `#/$defs/${keyAt(at + 1)}` })) },
    }),
    (parts) => ({ ...body, inputSchema: { type: 'object', required: times(parts, (at) => keyAt(at)) } }),
    (parts) => ({ ...body, inputSchema: { enum: times(parts, (at) => at) } }),
    (parts) => ({ ...body, tags: times(parts, (at) => keyAt(at)) }),
  ],
  KeyBody: (body) => [(parts) => ({ ...body, scopes: times(parts, (at) => `s${at}`) })],
  KeyChange: () => [(parts) => ({ scopes: times(parts, (at) => `s${at}`) })],
  KeyRotation: () => [],
  SignInBody: () => [],
  SignInCode: () => [],
  HashBody: () => [],
  RewindBody: () => [],
  ScheduleBody: (body) => [
    (parts) => ({ ...body, cron: times(parts, (at) => at % 60).join(',') + ' * * * *' }),
    (parts) => ({ ...body, run: { input: times(parts, () => user) } }),
  ],
  ScheduleChange: () => [],
  CallBody: (body) => [
    (parts) => ({ ...body, arguments: membersOf(parts, () => 1) }),
    (parts) => ({ ...body, arguments: { list: times(parts, () => nested(50)) } }),
  ],
  OutcomeReport: () => [
    (parts) => ({ result: membersOf(parts, () => 1) }),
    (parts) => ({ result: times(parts, () => nested(50)) }),
    (parts) => ({ content: times(parts, () => ({ type: 'text', text: 'a' })) }),
  ],
}

/** Messages with so many calls and their results. */
function calls(count: number): object[] {
  const ids = times(count, (at) => `c${at}`)
  const toolCalls = ids.map((id) => ({ id, type: 'function', function: { name: 't', arguments: '{}' } }))
  return [
    user,
    { role: 'assistant', tool_calls: toolCalls },
    ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'a' })),
  ]
}

/** Yields the worst bodies of a schema, each with what is large in it. */
export function* worstBodies(name: string, targets: Targets, most: number): Generator<[what: string, text: string]> {
  const valid: object = BODIES[name]?.(targets) ?? {}
  for (const [what, make] of Object.entries(ANYWHERE)) yield [what, fill(most, (parts) => make(valid, parts))]
  yield* inflated(valid, most)
  for (const [at, make] of (WORST[name]?.(valid) ?? []).entries()) yield [`its own ${at}`, fill(most, make)]
}
