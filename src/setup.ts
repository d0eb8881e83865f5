import type { CatalogueParts } from './catalogue/catalogue.ts'
import { catalogueStub } from './catalogue/stub.ts'
import type { AcceptanceService } from './contract/acceptance.ts'
import { rateLimits, secretOf, toolWorkers } from './contract/bindings.ts'
import type { CatalogueService, VersionedDefinitions } from './contract/catalogue.ts'
import { ConfigError, readConfig } from './contract/config.ts'
import type { ConversationService, DirectoryService, Objects } from './contract/conversation.ts'
import type { ModelProvider } from './contract/model.ts'
import type { Setup } from './contract/setup.ts'
import { anthropic } from './model/anthropic.ts'
import { modelChooser } from './model/choose.ts'
import { gemini } from './model/gemini.ts'
import { openai } from './model/openai.ts'
import { responses } from './model/responses.ts'
import { retrying } from './model/retry.ts'
import { type AiBinding, workersAi } from './model/workers-ai.ts'
import { logs } from './observe/log.ts'
import { matches } from './contract/glob.ts'
import { searchHook } from './search/hook.ts'
import { readPolicies } from './host/policy/policies.ts'
import { edgeTools } from './host/source/edge-tools.ts'
import { acceptedTools } from './host/source/approved-definitions.ts'
import { holdBack } from './host/source/approval-gate.ts'
import { serviceSource } from './host/source/service.ts'

/**
 * The bindings, variables and secrets of the edge Worker. Bindings named `TOOL_*` are tool Workers. Without `CATALOG`,
 * `TOOLS` and `DEFINITIONS` there are no stored tools; without the first two, tools that change are not held back. A
 * Worker of agents has no conversations.
 */
export interface Env {
  readonly CONVERSATIONS: Objects<ConversationService>
  readonly DIRECTORIES: Objects<DirectoryService>
  readonly CATALOG?: Objects<CatalogueService & AcceptanceService>
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
 * Puts the edge together from its env. This is the only file that names bindings, and it is yours to edit: add a model
 * provider, a tool source or a check here. Called once per isolate. `providers` are further providers of a door.
 */
export function setup(env: Env, providers: Readonly<Record<string, ModelProvider>> = {}): Setup {
  const config = readConfig(env)
  const { TOOLS: namespace, DEFINITIONS: definitions, CATALOG: catalogues } = env
  const acceptances =
    namespace && catalogues && acceptedTools({ namespace, catalogue: catalogueStub(catalogues), report })
  if (!acceptances && env['HOLD_CHANGED'] && config.holdChanged.length > 0) {
    throw new ConfigError('HOLD_CHANGED', '"off" without the bindings CATALOG and TOOLS')
  }
  // The tools of these bindings come from others, who may change them at any time.
  const isForeign = (binding: string) => matches(config.holdChanged, binding)
  const servicesOf = (isWanted: (binding: string) => boolean) =>
    serviceSource({
      report,
      bindings: Object.fromEntries(Object.entries(toolWorkers(env)).filter(([binding]) => isWanted(binding))),
      offered: (name) => matches(config.defaultTools, name),
      hold: (binding) => (acceptances && isForeign(binding) ? (tools) => holdBack(tools, acceptances) : undefined),
    })
  const policies = readPolicies(env)
  const rates = rateLimits(
    env,
    [...config.apiKeys, ...Object.values(policies)].flatMap(({ rate }) => rate ?? []),
  )
  const { tools, finder, stored } = edgeTools({
    services: servicesOf((binding) => !isForeign(binding)),
    foreign: servicesOf(isForeign),
    rules: { policies, rates },
    ...(namespace &&
      definitions &&
      catalogues && {
        stored: {
          namespace,
          catalogueOf: (owner) => catalogueStub(catalogues, owner),
          definitions,
          hosts: config.httpToolHosts,
          secret: (name) => secretOf(env, name),
          report,
        },
      }),
    report,
  })
  const models = modelChooser({
    providers: { ...providersOf(env), ...providers },
    defaultModel: config.model,
    allowed: config.models,
    prices: config.prices,
  })
  return {
    config,
    models,
    tools,
    finder,
    stored,
    ...(acceptances && { acceptances }),
    conversations: env.CONVERSATIONS,
    directories: env.DIRECTORIES,
    report,
    rates,
    ...(env.WEBHOOK_SECRET && { webhook: { secret: env.WEBHOOK_SECRET, hosts: config.webhookHosts } }),
    loop: {
      hooks: config.toolSearch === 'off' ? [] : [searchHook({ when: config.toolSearch, finder })],
      ...(definitions && { validate: (schema, value) => definitions.validate(schema, value) }),
      ...(config.log === 'runs' && { observe: logs(log, config) }),
    },
  }
}

/** Returns what the catalogue works with. Throws if `CATALOG` is bound without `TOOLS`, which holds its copy. */
export function catalogueParts({ TOOLS: namespace, DEFINITIONS: definitions }: Env): CatalogueParts {
  if (!namespace) throw new Error('CATALOG needs the binding TOOLS')
  return {
    namespace,
    compare: async (before, after) => {
      if (definitions) return definitions.compare(before, after)
      throw new Error('CATALOG needs the binding DEFINITIONS')
    },
    report,
  }
}

/** Returns the model providers, by the part of model names before the slash. Transient failures are retried. */
function providersOf(env: Env): Record<string, ModelProvider> {
  const openAi = { baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY }
  const makers: Record<string, ModelProvider> = {
    openai: openai(openAi),
    responses: responses(openAi),
    anthropic: anthropic({ baseUrl: env.ANTHROPIC_BASE_URL, apiKey: env.ANTHROPIC_API_KEY }),
    gemini: gemini({ baseUrl: env.GEMINI_BASE_URL, apiKey: env.GEMINI_API_KEY }),
    ...(env.AI && { 'workers-ai': workersAi(env.AI) }),
  }
  return Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, (model) => retrying(make(model))]))
}

/** Logs a fault. */
function report(entry: object): void {
  console.error(JSON.stringify(entry))
}

/** Logs a normal event. */
function log(entry: object): void {
  console.log(JSON.stringify(entry))
}
