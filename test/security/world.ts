import { fullSurfaces } from '../fixtures/everything.ts'
import { DatabaseSync } from 'node:sqlite'
import { catalogue } from '../../src/catalogue/catalogue.ts'
import type { ConversationService } from '../../src/contract/conversation.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { definitionService } from '../../src/definitions/service.ts'
import { edge } from '../../src/http/app/edge.ts'
import { catalogueParts } from '../../src/edge/catalog.ts'
import type { Env } from '../../src/edge/env.ts'
import { everything } from '../../src/edge/everything.ts'
import { makeSetup } from '../../src/edge/setup.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { schedulesObject } from '../../src/triggers/schedules.ts'
import { FakeKv } from '../host/source/fake-kv.ts'

export const SCOPES = [
  'chat',
  'tools:read',
  'tools:write',
  'tools:admin',
  'approve',
  'metrics',
  'backup',
  'keys',
  'schedules',
] as const

/** The scopes of keys that act for their tenant; `tools:admin` and `keys` act for the whole edge. */
const OF_TENANTS = SCOPES.filter((scope) => scope !== 'tools:admin' && scope !== 'keys')

/** The kinds of keys; those of scopes are of the tenant that owns the targets. */
export const KEYS = ['none', 'wrong', 'disabled', 'expired', ...SCOPES, 'other', 'owner'] as const
/** `operator`: a key of all scopes. */
export type KeyKind = (typeof KEYS)[number] | 'operator'

/** The targets of a world: what the owner's tenant has, by the names of path parameters. */
export interface Targets {
  readonly conversation: string
  readonly run: string
  readonly call: string
  readonly response: string
  readonly tool: string
  readonly hash: string
  /** The id of a stored API key. */
  readonly key: string
  readonly schedule: string
}

export interface World {
  readonly targets: Targets
  ask(path: string, as: KeyKind, init?: { method?: string; json?: unknown }): Promise<Response>
  /** Sends a request as it is. */
  send(request: Request): Promise<Response>
  /** Has every call of a Durable Object fail with this error from now on; without an error, no more. */
  failObjects(error?: Error): void
  /** Returns how many rows all Durable Objects have written so far, without those that count refused requests. */
  rowsWritten(): number
}

/** What the KV namespace `KEYS` holds. */
const STORED: Readonly<Record<string, string>> = {
  disabled: JSON.stringify(['disabled']),
  'key:billing-key': JSON.stringify(apiKey('billing-key', { id: 'billing-key', scopes: [] })),
}

/** A model that asks for the tool `danger` when it is on offer and the question is about it; else it greets. */
function answerTo(request: { messages: readonly { role: string; content?: unknown }[] }): ModelEvent[] {
  const last = request.messages.at(-1)
  const isAbout = last?.role === 'user' && JSON.stringify(last.content).includes('danger')
  return isAbout
    ? [
        { type: 'call', index: 0, tool: 'danger', arguments: '{}' },
        { type: 'finish', finish: 'tool_calls' },
      ]
    : [
        { type: 'text', text: 'Hello.' },
        { type: 'finish', finish: 'stop' },
      ]
}

/** An object of the platform, over a database in memory; nothing wakes it. */
function parts(databases: DatabaseSync[]): { ctx: DurableObjectState } {
  const database = new DatabaseSync(':memory:')
  databases.push(database)
  const storage = Object.assign(memoryStorage(database), { setAlarm: async () => {} })
  return { ctx: { storage } as unknown as DurableObjectState }
}

/** Objects of a class by name, each made when it is first asked for. */
function objects<Value>(
  make: (ctx: DurableObjectState) => Value,
  databases: DatabaseSync[],
): { getByName(name: string): Value } {
  const values = new Map<string, Value>()
  return {
    getByName: (name) => {
      const { ctx } = parts(databases)
      const object = values.get(name) ?? Object.assign(make(ctx) as object, { ctx })
      values.set(name, object as Value)
      return object as Value
    },
  }
}

/**
 * The edge of `src/setup.ts` in plain Node, with a tenant `acme` that has a conversation with a run that waits for an
 * approval, a stored response, a stored tool and a tool of a Worker which only it may use; and a key of each kind.
 */
export async function openWorld(): Promise<World> {
  const danger = {
    ...{ name: 'danger', description: 'Does something.', inputSchema: { type: 'object' } },
    ...{ version: '1', hash: 'h', annotations: {}, approval: 'always' },
  }
  const databases: DatabaseSync[] = []
  let objectError: Error | undefined
  /** The rows by which refused requests are counted, seconds after they were answered. */
  let refusalRows = 0
  const totalRows = () =>
    databases.reduce((sum, each) => sum + Number(each.prepare('SELECT total_changes() AS sum').get()?.['sum']), 0)
  /** Makes a namespace whose objects fail while there is an error. */
  const failing = <Value extends object>(namespace: { getByName(name: string): Value }) => ({
    getByName: (name: string) =>
      new Proxy(namespace.getByName(name), {
        get: (object, property) => {
          const member: unknown = Reflect.get(object, property)
          if (typeof member !== 'function') return member
          return (...args: unknown[]): unknown => {
            if (objectError) return Promise.reject(objectError)
            const before = totalRows()
            const result: unknown = member.apply(object, args)
            if (property === 'countRuns' && JSON.stringify(args).includes('"edgecall_refused_requests"'))
              refusalRows += totalRows() - before
            return result
          }
        },
      }),
  })
  const env: Env = {
    ...withKeys(
      ...SCOPES.map((scope) => apiKey(scope, { scopes: [scope] })),
      apiKey('owner', { scopes: OF_TENANTS }),
      apiKey('operator', { scopes: SCOPES }),
      apiKey('disabled', { id: 'disabled', scopes: SCOPES }),
      apiKey('expired', { scopes: SCOPES, expires: 1 }),
      apiKey('other', { scopes: OF_TENANTS, tenant: 'other' }),
    ),
    MODEL: 'test/scripted',
    TOOL_SEARCH: 'off',
    TOOL_POLICY: JSON.stringify({ danger: { tenants: ['acme'] } }),
    TOOL_DATA: {
      describe: async () => ({ contract: 1, tools: [danger] }),
      call: async () => ({ ok: true, content: [] }),
    },
    KEYS: {
      get: async (name: string) => STORED[name] ?? null,
      put: async () => {},
      delete: async () => {},
      list: async () => ({ keys: [] }),
    },
    TOOLS: new FakeKv(),
    DEFINITIONS: definitionService({}),
    CONVERSATIONS: failing(objects<ConversationService>((ctx) => new Conversation(ctx, env), databases)),
    DIRECTORIES: failing(memoryDirectories(databases)),
    CATALOG: failing(objects((ctx) => new Catalog(ctx, env), databases)),
    SCHEDULES: failing(objects((ctx) => new Schedules(ctx, env), databases)),
  } as unknown as Env
  const model = {
    name: 'test/scripted',
    stream: async function* (request: Parameters<typeof answerTo>[0]) {
      yield* answerTo(request)
    },
  }
  const providers = { ...everything.providers, test: () => () => model }
  const setup = (own: Env) => makeSetup(own, { ...everything, providers })
  const Conversation = conversation<Env>(setup)
  const Catalog = catalogue<Env>(catalogueParts)
  const Schedules = schedulesObject<Env>(setup)
  const app = edge<Env>(setup, fullSurfaces)
  const send: World['send'] = async (request) => app.fetch(request, env, { waitUntil: () => {} })
  const ask: World['ask'] = (path, as, { method = 'GET', json } = {}) =>
    send(
      new Request(new URL(path, 'https://edge.example.com'), {
        method,
        headers: {
          ...(as !== 'none' && bearer(as)),
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      }),
    )
  const create = async (path: string, json: unknown, method = 'POST'): Promise<any> => {
    const response = await ask(path, 'owner', { method, json })
    const body: any = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(body)}`)
    return body
  }
  await create('/conversations', { id: 'mine' })
  const run = await create('/conversations/mine/runs', { input: 'Do danger' })
  const response = await create('/v1/responses', { input: 'Hello', model: 'test/scripted' })
  const definition = { description: 'Answers.', inputSchema: { type: 'object' }, static: { text: '42' } }
  const { hash } = await create('/tools/answer42', definition, 'PUT')
  await create('/schedules/report', { everySeconds: 3600, run: { input: 'Hello' } }, 'PUT')
  const targets = {
    conversation: 'mine',
    run: run.id,
    call: run.calls[0].id,
    response: response.id,
    tool: 'answer42',
    hash,
    key: 'billing-key',
    schedule: 'report',
  }
  const rowsWritten = () => totalRows() - refusalRows
  const failObjects = (error?: Error) => void (objectError = error)
  return { targets, ask, send, failObjects, rowsWritten }
}
