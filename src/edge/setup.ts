import { rateLimits, toolWorkers } from '../contract/bindings.ts'
import { ConfigError, readConfig } from '../contract/config.ts'
import { matches } from '../contract/glob.ts'
import type { Hook, LoopSetup } from '../contract/hook.ts'
import type { ModelProvider } from '../contract/model.ts'
import { type SecretFilter, secretFilter } from '../contract/secrets.ts'
import type { IdentityTokens, Setup } from '../contract/setup.ts'
import type { ToolSource } from '../contract/tool.ts'
import { createBreaker } from '../host/breaker.ts'
import { readPolicies } from '../host/policy/policies.ts'
import { gateTools } from '../host/source/approval-gate.ts'
import { inOrder } from '../host/source/chain.ts'
import { edgeTools } from '../host/source/edge-tools.ts'
import { serviceSource } from '../host/source/service.ts'
import { keyStates } from '../http/middleware/key-states.ts'
import { modelChooser } from '../model/choose.ts'
import { retrying } from '../model/retry.ts'
import { withoutSecrets } from '../model/without-secrets.ts'
import { logs } from '../observe/log.ts'
import { type Env, secretsOf, textOf } from './env.ts'
import { reportTo } from './report.ts'
import type { ProviderFromEnv } from './providers.ts'
import type { StoredToolsFeature } from './stored-tools.ts'
import type { ToolSearchFeature } from './tool-search.ts'

/** What an edge is made of. What is not named here is not in the bundle. */
export interface SetupOptions {
  /** The model providers, by the part of a model's name before the slash: `openai` serves `openai/gpt-4.1-mini`. */
  readonly providers: Readonly<Record<string, ProviderFromEnv>>
  /** `storedTools`. Default: tools are bound Workers alone. */
  readonly stored?: StoredToolsFeature
  /** `identityTokens`: accepts tokens of `IDENTITY_PROVIDERS`. Default: API keys alone. */
  readonly identity?: IdentityTokens
  /** `toolSearch()`. Default: models are given all tools on offer. */
  readonly search?: ToolSearchFeature
  /** Further tools, such as `agentSource(agents, setup)`. `setup` is that of the edge. Default: none. */
  readonly sources?: (setup: Setup, env: Env) => readonly ToolSource[]
  /** Functions around the loop, the first outermost. Default: none. */
  readonly hooks?: readonly Hook[]
  /** Replacements for parts of the loop. Default: none. */
  readonly loop?: Omit<LoopSetup, 'hooks'>
  /** Chooses tools by model, for requests that name none. Default: `DEFAULT_TOOLS`. */
  readonly toolsOf?: Setup['toolsOf']
  /** Returns what tools are told about a caller that no caller can send, such as the plan of its tenant. */
  readonly trusted?: Setup['trusted']
}

/**
 * Puts the parts of an edge together from its env. This is the only place that names bindings. Called once per isolate
 * and env. Throws a ConfigError that names the first variable that cannot be read.
 */
export function makeSetup(env: Env, options: SetupOptions): Setup {
  const config = readConfig(env)
  const policies = readPolicies(env)
  const secrets = secretFilter(secretsOf(env))
  const report = reportTo('error', secrets)
  if (config.identityProviders.length > 0 && !options.identity) {
    throw new ConfigError('IDENTITY_PROVIDERS', 'unset in an edge without identityTokens')
  }
  const parts = { env, config, report }
  const approvals = options.stored?.approvals(parts)
  if (!approvals && env['HOLD_CHANGED'] && config.holdChanged.length > 0) {
    throw new ConfigError('HOLD_CHANGED', '"off" in an edge without stored tools (bindings CATALOG and TOOLS)')
  }
  // The tools of these bindings come from others, who may change them at any time.
  const isForeign = (binding: string) => matches(config.holdChanged, binding)
  const servicesOf = (isWanted: (binding: string) => boolean) =>
    serviceSource({
      report,
      bindings: Object.fromEntries(Object.entries(toolWorkers(env)).filter(([binding]) => isWanted(binding))),
      offered: (name) => matches(config.defaultTools, name),
      gate: (binding) => (approvals && isForeign(binding) ? (tools) => gateTools(tools, approvals) : undefined),
    })
  const rates = rateLimits(
    env,
    [...config.apiKeys, ...config.identityProviders, ...Object.values(policies)].flatMap(({ rate }) => rate ?? []),
  )
  const { sources } = options
  const { tools, finder, stored } = edgeTools({
    services: servicesOf((binding) => !isForeign(binding)),
    foreign: servicesOf(isForeign),
    others: sources ? [lazySource(() => inOrder(sources(setup, env), report))] : [],
    rules: { policies, rates, secrets, breaker: config.breaker && createBreaker(config.breaker) },
    stored: options.stored?.tools(parts),
    search: options.search?.finder,
    report,
  })
  const searchHook = finder && options.search?.hook(config, finder)
  const webhookSecret = textOf(env, 'WEBHOOK_SECRET')
  const { DEFINITIONS: definitions } = env
  const setup: Setup = {
    config,
    models: modelChooser({
      providers: providersOf(env, options.providers, secrets),
      defaultModel: config.model,
      allowed: config.models,
      prices: config.prices,
      patience: config.patience,
    }),
    tools,
    ...(finder && { finder }),
    stored,
    ...(approvals && { acceptances: approvals }),
    conversations: env.CONVERSATIONS,
    directories: env.DIRECTORIES,
    report,
    rates,
    ...(options.identity && { identityTokens: options.identity }),
    ...(env.KEYS && { keyStates: keyStates({ namespace: env.KEYS, report }) }),
    ...(webhookSecret !== undefined && { webhook: { secret: webhookSecret, hosts: config.webhookHosts } }),
    ...(options.toolsOf && { toolsOf: options.toolsOf }),
    ...(options.trusted && { trusted: options.trusted }),
    loop: {
      ...(definitions && { validate: (schema, value) => definitions.validate(schema, value) }),
      ...(config.log === 'runs' && { observe: logs(reportTo('log', secrets), config) }),
      ...options.loop,
      hooks: [...(options.hooks ?? []), ...(searchHook ? [searchHook] : [])],
    },
  }
  return setup
}

/** Makes a source when it is first asked, since sources such as agents need the setup that they become part of. */
function lazySource(make: () => ToolSource): ToolSource {
  let source: ToolSource | undefined
  const get = () => (source ??= make())
  return { list: (page) => get().list(page), offered: () => get().offered(), find: (names) => get().find(names) }
}

/** Makes the providers that the env has what it takes for. Transient failures of their models are retried. */
function providersOf(
  env: Env,
  providers: SetupOptions['providers'],
  secrets: SecretFilter | undefined,
): Record<string, ModelProvider> {
  return Object.fromEntries(
    Object.entries(providers).flatMap(([name, fromEnv]) => {
      const provider = fromEnv(env)
      if (!provider) return []
      const clean: ModelProvider = secrets ? (model) => withoutSecrets(provider(model), secrets) : provider
      return [[name, (model: string) => retrying(clean(model))] as const]
    }),
  )
}
