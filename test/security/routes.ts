import { readFileSync } from 'node:fs'
import { SCOPES, type Targets } from './world.ts'

interface Operation {
  readonly security?: readonly object[]
  readonly description?: string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>> }
}

const { paths } = JSON.parse(readFileSync(new URL('../../src/http/openapi.txt', import.meta.url).pathname, 'utf8')) as {
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export interface Route {
  readonly method: string
  readonly path: string
  /** The scopes of which a key needs all; of which it needs one, if its body decides; undefined for no key. */
  readonly scopes: readonly string[] | undefined
  readonly body: string | undefined
}

/** The routes of the OpenAPI document. */
export const ROUTES: readonly Route[] = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, { security, description = '', requestBody }]) => {
    const [, words = ''] = /Required scope: (.*)\.$/.exec(description) ?? []
    const body = requestBody?.content['application/json']?.schema.$ref.split('/').at(-1)
    const scopes = SCOPES.filter((scope) => words.split(/[^a-z:]+/).includes(scope))
    return { method: method.toUpperCase(), path, scopes: security?.length === 0 ? undefined : scopes, body }
  }),
)

const user = { role: 'user', content: 'Hello' }

/** A valid body of each schema, which names the target where it can. */
export const BODIES: Readonly<Record<string, (targets: Targets) => unknown>> = {
  ChatCompletionBody: ({ conversation }) => ({ messages: [user], edgecall: { conversation } }),
  ResponseBody: ({ response }) => ({ input: 'Hello', previous_response_id: response }),
  OpenAIConversation: () => ({ items: [user] }),
  OpenAIConversationChange: () => ({ metadata: {} }),
  OpenAIItems: () => ({ items: [user] }),
  EmbeddingBody: () => ({ model: 'test/scripted', input: 'Hi' }),
  MessageBody: ({ conversation }) => ({ max_tokens: 100, messages: [user], edgecall: { conversation } }),
  TokenCountBody: () => ({ messages: [user] }),
  UseChatBody: ({ conversation }) => ({
    id: conversation,
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  }),
  RunAgentInput: ({ conversation }) => ({
    threadId: conversation,
    runId: 'r',
    messages: [{ id: 'm', ...user }],
  }),
  McpMessage: ({ tool }) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } }),
  RunBody: ({ tool }) => ({ input: 'Hello', tools: [tool] }),
  ConversationBody: ({ conversation }) => ({ id: conversation }),
  ForkBody: () => ({ at: 1 }),
  CallAnswer: () => ({ decision: 'approve' }),
  Definition: () => ({ description: 'x', inputSchema: { type: 'object' }, static: { text: 'x' } }),
  KeyBody: () => ({ id: 'another', tenant: 'acme', scopes: [] }),
  KeyChange: () => ({ scopes: [] }),
  KeyRotation: () => ({}),
  SignInBody: () => ({}),
  SignInCode: () => ({ code: 'K7QF-2M9P' }),
  HashBody: ({ hash }) => ({ hash }),
  RewindBody: () => ({ at: '2026-02-28T14:30:00Z' }),
  ScheduleBody: () => ({ cron: '0 0 1 1 *', run: { input: 'Hello' } }),
  ScheduleChange: () => ({ paused: true }),
  CallBody: () => ({ arguments: {} }),
}

/** Returns the path and the request of a route for these targets. */
export function fill(route: Route, targets: Targets): { path: string; init: { method: string; json?: unknown } } {
  const { conversation, run, call, response, tool, hash, key } = targets
  const isResponse = route.path.startsWith('/v1/responses')
  const values: Record<string, string> = {
    id: isResponse ? response : conversation,
    run,
    call,
    name: tool,
    hash,
    step: '1',
    // The first message of the first run.
    item: 'msg_1000000_0',
  }
  if (route.path.startsWith('/schedules')) values['name'] = targets.schedule
  if (route.path.startsWith('/keys')) values['id'] = key
  if (route.path.startsWith('/v1/models')) values['name'] = 'test/scripted'
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'x')
  const json = route.body === undefined ? undefined : BODIES[route.body]?.(targets)
  return { path, init: { method: route.method, ...(json !== undefined && { json }) } }
}
