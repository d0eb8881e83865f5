import type { CatalogueParts } from './catalogue/catalogue.ts'
import { type Config, ConfigError, readConfig } from './contract/config.ts'
import type { ConversationService, DirectoryService, Objects } from './contract/conversation.ts'
import type { ModelProvider } from './contract/model.ts'
import type { RateLimit, Setup } from './contract/setup.ts'
import type { ToolService } from './contract/tool.ts'
import { anthropic } from './model/anthropic.ts'
import { modelChooser } from './model/choose.ts'
import { gemini } from './model/gemini.ts'
import { openai } from './model/openai.ts'
import { responses } from './model/responses.ts'
import { retrying } from './model/retry.ts'
import { type AiBinding, workersAi } from './model/workers-ai.ts'
import { logs } from './observe/log.ts'
import { matches } from './tool/glob.ts'
import { searchHook } from './tool/search/hook.ts'
import { chain } from './tool/source/chain.ts'
import { kvSource } from './tool/source/kv.ts'
import { serviceSource } from './tool/source/service.ts'
import type { CatalogueService, VersionedDefinitions, StoredTools } from './contract/catalogue.ts'

/**
 * The bindings, variables and secrets of the edge Worker. Whatever is named `TOOL_*` is a tool Worker; without `CATALOG`,
 * `TOOLS` and `DEFINITIONS` there are no stored tools. A Worker of agents has no conversations.
 */
export interface Env {
  readonly CONVERSATIONS: Objects<ConversationService>
  readonly DIRECTORIES: Objects<DirectoryService>
  readonly CATALOG?: Objects<CatalogueService>
  readonly TOOLS?: KVNamespace
  readonly DEFINITIONS?: VersionedDefinitions
  readonly OPENAI_BASE_URL?: string
  readonly OPENAI_API_KEY?: string
  readonly ANTHROPIC_BASE_URL?: string
  readonly ANTHROPIC_API_KEY?: string
  readonly GEMINI_BASE_URL?: string
  readonly GEMINI_API_KEY?: string
  readonly AI?: AiBinding
  /** Signs webhooks: `whsec_` and base64, or any text. */
  readonly WEBHOOK_SECRET?: string
  readonly [name: string]: unknown
}

/**
 * What this edge is made of. The one file that reads the env and names bindings, and yours to edit: add a model
 * provider, a tool source or a check here. Called once for an isolate. `providers` are those of a door that has more.
 */
export function setup(env: Env, providers: Readonly<Record<string, ModelProvider>> = {}): Setup {
  const config = readConfig(env)
  const services = serviceSource({ bindings: toolWorkers(env), offered: (name) => matches(config.defaultTools, name) })
  const { TOOLS: namespace, DEFINITIONS: definitions, CATALOG: catalogues } = env
  const secret = (name: string) => secretOf(env, name)
  const stored =
    namespace &&
    definitions &&
    catalogues &&
    kvSource({
      namespace,
      catalogue: catalogueOf(catalogues),
      definitions,
      hosts: config.httpToolHosts,
      secret,
      services,
    })
  return {
    config,
    models: modelChooser({
      providers: { ...providersOf(env), ...providers },
      defaultModel: config.model,
      allowed: config.models,
      prices: config.prices,
    }),
    tools: chain(stored ? [services, stored] : [services]),
    stored: stored ?? NOTHING_STORED,
    conversations: env.CONVERSATIONS,
    directories: env.DIRECTORIES,
    report,
    rates: ratesOf(env, config),
    ...(env.WEBHOOK_SECRET && { webhook: { secret: env.WEBHOOK_SECRET, hosts: config.webhookHosts } }),
    loop: {
      hooks: config.toolSearch === 'off' ? [] : [searchHook({ when: config.toolSearch })],
      ...(definitions && { validate: (schema, value) => definitions.validate(schema, value) }),
      ...(config.log === 'runs' && { observe: logs(report, config) }),
    },
  }
}

/** What the catalogue of stored definitions works with. Throws where it is bound and one of its parts is not. */
export function catalogueParts({ TOOLS: namespace, DEFINITIONS: definitions }: Env): CatalogueParts {
  if (!namespace || !definitions) throw new Error('CATALOG needs the bindings TOOLS and DEFINITIONS')
  return { namespace, compare: (before, after) => definitions.compare(before, after), report }
}

/** All writes of an edge go through one object; what it answers over belongs to one request. */
function catalogueOf(catalogues: Objects<CatalogueService>): CatalogueService {
  const one = () => catalogues.getByName('catalogue')
  return {
    write: (write) => one().write(write),
    remove: (name, by) => one().remove(name, by),
    history: (name, page) => one().history(name, page),
    version: (name, hash) => one().version(name, hash),
  }
}

/** Who makes models, by the first half of their names. Each is asked again where it fails for a moment. */
function providersOf(env: Env): Record<string, ModelProvider> {
  const openAi = { baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY }
  const made: Record<string, ModelProvider> = {
    openai: openai(openAi),
    responses: responses(openAi),
    anthropic: anthropic({ baseUrl: env.ANTHROPIC_BASE_URL, apiKey: env.ANTHROPIC_API_KEY }),
    gemini: gemini({ baseUrl: env.GEMINI_BASE_URL, apiKey: env.GEMINI_API_KEY }),
    ...(env.AI && { 'workers-ai': workersAi(env.AI) }),
  }
  return Object.fromEntries(Object.entries(made).map(([name, make]) => [name, (model) => retrying(make(model))]))
}

const NOTHING_STORED: StoredTools = {
  put: async () => ({
    ok: false,
    issues: [{ path: '', message: 'expected an edge with the bindings CATALOG, TOOLS and DEFINITIONS' }],
  }),
  rollback: async () => undefined,
  remove: async () => false,
  history: async () => [],
  version: async () => undefined,
}

function report(entry: object): void {
  console.error(JSON.stringify(entry))
}

/** The rate limits that keys name. Throws a ConfigError for one that is not bound. */
function ratesOf(env: Env, { apiKeys }: Config): Record<string, RateLimit> {
  const names = apiKeys.flatMap(({ rate = [] }) => rate)
  return Object.fromEntries(
    names.map((name) => {
      const rate = env[name]
      if (isRate(rate)) return [name, rate]
      throw new ConfigError(name, 'a rate limit binding')
    }),
  )
}

function isRate(value: unknown): value is RateLimit {
  return isBinding(value) && typeof Reflect.get(Object(value), 'limit') === 'function'
}

function toolWorkers(env: Env): Record<string, ToolService> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, ToolService] => entry[0].startsWith('TOOL_') && isBinding(entry[1]),
    ),
  )
}

/** A variable may begin with TOOL_ too; a service binding is an object. */
function isBinding(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Stored definitions name secrets; only what begins with SECRET_ may be named. */
function secretOf(env: Env, name: string): string | undefined {
  const value = name.startsWith('SECRET_') ? env[name] : undefined
  return typeof value === 'string' ? value : undefined
}
