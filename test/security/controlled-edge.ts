import { fullSurfaces } from '../fixtures/everything.ts'
import { DatabaseSync } from 'node:sqlite'
import { catalogue } from '../../src/catalogue/catalogue.ts'
import type { CatalogueService } from '../../src/contract/catalogue.ts'
import type { Objects } from '../../src/contract/conversation.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { failure } from '../../src/contract/tool.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { definitionService } from '../../src/definitions/service.ts'
import { edge } from '../../src/http/app/edge.ts'
import type { ToolBinding } from '../../src/host/worker/call.ts'
import { type Script, scripted } from '../fixtures/scripted.ts'
import { catalogueParts } from '../../src/edge/catalog.ts'
import type { Env } from '../../src/edge/env.ts'
import { surfacesOf } from '../../src/edge/create-edge.ts'
import { everything } from '../../src/edge/everything.ts'
import type { EdgeOptions } from '../../src/edge/options.ts'
import type { Part } from '../../src/edge/part.ts'
import { makeSetup } from '../../src/edge/setup.ts'
import { answerReporter } from '../../src/triggers/answers.ts'
import { schedulesObject } from '../../src/triggers/schedules.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { FakeKv } from '../host/source/fake-kv.ts'

export interface EdgeRequest {
  readonly method?: string
  readonly json?: unknown
  readonly headers?: Record<string, string>
  /** A body that is not JSON. */
  readonly text?: string
}

export interface EdgeAnswer {
  readonly status: number
  readonly headers: Headers
  /** The parsed body; the text of a body that is not JSON. */
  readonly body: any
}

export interface ControlledEdge {
  readonly kv: FakeKv
  /** What the model was sent. */
  readonly requests: readonly ModelRequest[]
  /** The objects that store definitions, by the tenant's name. Replacing a method makes the object of a tenant fail. */
  readonly catalogs: Pick<Objects<CatalogueService>, 'getByName'>
  /** Deploys the edge with other scopes for a key, which is still named as before. */
  readonly setScopes: (key: string, scopes: string) => void
  /** The objects of conversations, by their names. */
  readonly conversations: { getByName(name: string): { alarm(): Promise<void> } }
  /** The objects of schedules, by the tenant's name. */
  readonly schedules: { getByName(tenant: string): { alarm(): Promise<void> } }
  /** Waits for what the objects do beside their answers. */
  readonly settle: () => Promise<void>
  /** Sends a request with a key: a tenant's name and scopes, such as `acme: chat tools:read`. */
  readonly as: (key: string) => (path: string, edgeRequest?: EdgeRequest) => Promise<EdgeAnswer>
}

export interface ControlledEdgeOptions {
  /** The tools of each bound tool Worker, by binding. */
  readonly workers: Readonly<Record<string, readonly Tool[]>>
  readonly script?: readonly Script[]
  /** The model. Default: one that plays the script. */
  readonly model?: ReturnType<typeof scripted>
  readonly vars?: Readonly<Record<string, unknown>>
  /** The keys that requests may be sent with, as `as` takes them. */
  readonly keys: readonly string[]
  /** Answers the requests of stored tools. */
  readonly fetch?: (url: string) => Promise<Response>
  /** Parts that the edge has beside all of its own. */
  readonly parts?: readonly Part[]
  /** Further tools, as `createEdge` takes them. */
  readonly sources?: EdgeOptions['sources']
  /** Changes the setup that `createEdge` makes. */
  readonly change?: (setup: Setup) => Setup
}

/**
 * The reference edge as it is deployed, in plain Node: real doors, conversations, catalogue and definitions,
 * over databases and a KV in memory. Its tool Workers hold the given tools, and its model plays a script.
 */
export function controlledEdge(options: ControlledEdgeOptions): ControlledEdge {
  const { workers, script = [], vars = {}, keys, fetch, parts = [], sources, change = (edge) => edge } = options
  const { model = scripted(script, 'test/scripted') } = options
  const kv = new FakeKv()
  const works: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>) => void works.push(work)
  const catalogs = objects<InstanceType<typeof Catalog>>((ctx) => new Catalog(ctx, env), waitUntil)
  const conversations = objects<InstanceType<typeof Conversation>>(
    (ctx) => Object.assign(new Conversation(ctx, env), { ctx }),
    waitUntil,
  )
  const schedules = objects<InstanceType<typeof Schedules>>(
    (ctx) => Object.assign(new Schedules(ctx, env), { ctx }),
    waitUntil,
  )
  const env: Env = {
    MODEL: 'test/scripted',
    ...withKeys(
      ...keys.map((key) => {
        const [tenant = '', scopes = ''] = key.split(': ')
        return apiKey(key.replace(/\W+/g, '-'), { tenant, scopes: scopes.split(' ') })
      }),
    ),
    ...vars,
    ...Object.fromEntries(Object.entries(workers).map(([binding, tools]) => [binding, workerOf(tools)])),
    TOOLS: kv as unknown as KVNamespace,
    DEFINITIONS: definitionService(fetch ? { fetch } : {}),
    CATALOG: catalogs,
    CONVERSATIONS: conversations,
    DIRECTORIES: memoryDirectories(),
    SCHEDULES: schedules,
  }
  let setup: Setup | undefined
  const edgeOptions: EdgeOptions = {
    providers: { test: () => () => model },
    use: [...everything.use, ...parts],
    ...(sources && { sources }),
  }
  const setupOnce = (): Setup => {
    if (setup) return setup
    const { reporters, ...changed } = change(makeSetup(env, edgeOptions))
    // What answers are sent by is changed as well.
    const own = reporters?.map((each) => (each.name === 'answers' ? answerReporter(setupOnce) : each))
    return (setup = { ...changed, ...(own && { reporters: own }) })
  }
  const Catalog = catalogue<Env>(catalogueParts)
  const Conversation = conversation(setupOnce)
  const Schedules = schedulesObject<Env>(setupOnce)
  const app = edge(setupOnce, [...fullSurfaces, ...surfacesOf(parts)])
  return {
    kv,
    catalogs,
    conversations,
    schedules,
    settle: async () => {
      for (const work of works) await work
    },
    setScopes: (key, scopes) => {
      const { apiKeys } = setupOnce().config
      const index = apiKeys.findIndex(({ id }) => id === keyName(key.replace(/\W+/g, '-')))
      const entry = apiKeys[index]
      if (entry) Object.assign(apiKeys, { [index]: { ...entry, scopes: scopes.split(' ') } })
    },
    requests: model.requests,
    as: (key) => {
      if (!keys.includes(key)) throw new Error(`There is no key "${key}"`)
      return async (path, { json, text: body, headers, method = json === undefined ? 'GET' : 'POST' } = {}) => {
        const response = await app.fetch(
          new Request(new URL(path, 'https://edge.example'), {
            method,
            headers: {
              ...bearer(key.replace(/\W+/g, '-')),
              ...(json !== undefined && { 'content-type': 'application/json' }),
              ...headers,
            },
            ...(json !== undefined && { body: JSON.stringify(json) }),
            ...(body !== undefined && { body }),
          }),
          env,
          { waitUntil: () => {} },
        )
        const text = await response.text()
        return { status: response.status, headers: response.headers, body: bodyOf(text) }
      }
    },
  }
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Objects by name, each over a database of its own. */
function objects<Service>(
  make: (ctx: DurableObjectState) => Service,
  waitUntil: (work: Promise<unknown>) => void,
): { getByName(name: string): Service } {
  const services = new Map<string, Service>()
  return {
    getByName: (name) => {
      const storage = Object.assign(memoryStorage(new DatabaseSync(':memory:')), {
        setAlarm: async () => {},
        getAlarm: async () => null,
      })
      const object = services.get(name) ?? make({ storage, waitUntil } as unknown as DurableObjectState)
      services.set(name, object)
      return object
    },
  }
}

/** A tool Worker with these tools, as its service binding shows it. `source`: what the tools are, if not its own. */
export function workerOf(tools: readonly Tool[], source?: 'mcp'): Required<Pick<ToolBinding, 'describe' | 'call'>> {
  return {
    describe: async () => ({
      contract: 1,
      tools: tools.map(({ definition }) => definition),
      ...(source && { source }),
    }),
    call: async (request, control) => {
      const { name, hash } = request as Parameters<Tool['call']>[0]
      const tool = tools.find(({ definition }) => definition.name === name)
      if (tool?.definition.hash !== hash) return failure('schema_mismatch', 'It has changed.')
      return tool.call(request as Parameters<Tool['call']>[0], control as Parameters<Tool['call']>[1])
    },
  }
}
