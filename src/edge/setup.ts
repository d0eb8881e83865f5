import { exports } from 'cloudflare:workers'
import { RUN_OPTIONS } from '../contract/run-options.ts'
import { rateLimits, rateNames, toolWorkers } from '../contract/vars.ts'
import { ConfigError, readConfig } from '../contract/config.ts'
import { matches, selectsTool } from '../contract/tool-names.ts'
import { isObject } from '../contract/json.ts'
import type { LoopSetup } from '../contract/hook.ts'
import type { ModelProvider } from '../contract/model.ts'
import { secretFilter } from '../contract/secrets.ts'
import type { ModelChooser, Setup } from '../contract/setup.ts'
import { readToolPatterns } from '../contract/tool-patterns.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolSource } from '../contract/tool.ts'
import { createBreaker } from '../host/breaker.ts'
import { bindTools } from '../host/policy/source.ts'
import { inOrder } from '../host/source/chain.ts'
import { type EdgeTools, edgeTools } from '../host/source/edge-tools.ts'
import { serviceSource } from '../host/source/service.ts'
import { modelChooser } from '../model/choose.ts'
import { OutageGate, retrying } from '../model/retry.ts'
import { withoutSecrets } from '../model/http-models.ts'
import { logs, reportTo } from '../observe/log.ts'
import { type Env, secretsOf } from './env.ts'
import { type EdgeOptions, partsIn } from './options.ts'
import type { Part, Services } from './part.ts'

/**
 * Puts the services of an edge together from its env, as its parts extend them. Called once per isolate and env. Throws
 * a ConfigError that names the first variable that cannot be read, or the first part that lacks what it needs.
 *
 * @example
 * const setup = makeSetup(env, { providers: { openai: openaiFromEnv }, use: [storedTools] })
 */
export function makeSetup(env: Env, options: EdgeOptions): Setup {
  const parts = partsIn(options)
  const initial = initialServices(env, options, () => setup)
  const { config } = initial
  requireParts(initial, parts)
  const names = parts.map(({ name }) => name)
  for (const { name, needs } of parts) {
    const lack = needs?.(env, config, names)
    if (lack !== undefined) throw new ConfigError(name, `left out of \`use\`, since it needs ${lack}`)
  }
  const setup = finish(parts.reduce((all: Services, { extend }) => ({ ...all, ...extend?.(all) }), initial))
  return setup
}

/** Returns what the parts extend: what the env and the options of the application alone give. */
function initialServices(
  env: Env,
  { providers, hooks = [], loop = {}, sources, toolsOf, trusted }: EdgeOptions,
  setup: () => Setup,
): Services {
  const config = readConfig(env)
  const secrets = secretFilter(secretsOf(env))
  const report = reportTo('error', secrets)
  return {
    env,
    config,
    isolate: {},
    report,
    deployment: versionOf(env),
    secrets,
    setup,
    conversations: env.CONVERSATIONS,
    directories: env.DIRECTORIES,
    providers,
    hooks,
    loop,
    sources: sources ? [lazySource(() => inOrder(sources(setup(), env), report))] : [],
    toolsOf,
    trusted,
    isForeign: (binding) => matches(config.holdChanged, binding),
    rules: { secrets, breaker: config.breaker && createBreaker(config.breaker) },
  }
}

function versionOf({ CF_VERSION_METADATA: metadata }: Env): string | undefined {
  return isObject(metadata) && typeof metadata.id === 'string' ? metadata.id : undefined
}

/** Makes the setup of services that all parts have extended, without those that it is only made of. */
function finish(services: Services): Setup {
  const {
    env,
    setup: _setup,
    providers: _providers,
    hooks: _hooks,
    sources: _sources,
    isForeign: _isForeign,
    rules,
    gate: _gate,
    storedTools: _storedTools,
    search: _search,
    translate: _translate,
    makeWindows: _makeWindows,
    ...shared
  } = services
  return {
    ...shared,
    ...makeTools(services),
    bindTools: (source) => bindTools(source, rules),
    models: makeModels(services),
    rates: rateLimits(env, rateNamesOf(services)),
    loop: makeLoop(services),
  }
}

/** Throws a ConfigError for a setting that would have no effect, because the edge is made without the part that reads it. */
function requireParts({ env, config }: Services, parts: readonly Part[]): void {
  const required = (variable: string, isSet: boolean, part: string) => {
    const isNamed = parts.some(({ name }) => name === part)
    if (isSet && !isNamed) throw new ConfigError(variable, `unset in an edge without ${part}`)
  }
  required('IDENTITY_PROVIDERS', Boolean(env['IDENTITY_PROVIDERS']), 'identityTokens')
  required('KEYS', env.KEYS !== undefined, 'disabledKeys')
  required('TOOL_POLICY', Boolean(env['TOOL_POLICY']), 'toolPolicies')
  required('approvers in TOOL_POLICY', /"approvers"\s*:\s*\[/.test(String(env['TOOL_POLICY'])), 'approvers')
  required('DECISION_MODEL', Boolean(env['DECISION_MODEL']), 'decisions')
  required('DIRECTORY_SHARDS', config.directoryShards > 1, 'shardedDirectories')
  required('WEBHOOK_SECRET', Boolean(env['WEBHOOK_SECRET']), 'webhooks')
  required('MEMORY_SUMMARY', config.window.summary === true, 'summaries')
  required('MODEL_WINDOWS', Object.keys(config.modelWindows).length > 0, 'contextPlanning')
  required(RUN_OPTIONS.code.variable, config.code !== 'off', 'codeMode')
  required('FILE_HOSTS', config.fileHosts.length > 0, 'linkedFiles')
}

/** Makes a source when it is first asked, since sources such as agents need the setup that they become part of. */
function lazySource(make: () => Required<ToolSource>): Required<ToolSource> {
  let source: Required<ToolSource> | undefined
  const get = () => (source ??= make())
  return {
    list: (page) => get().list(page),
    offered: () => get().offered(),
    find: (names) => get().find(names),
    names: (names) => get().names(names),
    size: () => get().size(),
    texts: () => get().texts(),
    searchable: () => get().searchable(),
  }
}

/** Makes the models of the providers that the env has what it takes for. Transient failures are retried. */
function makeModels({ env, config, secrets, providers, report, makeWindows }: Services): ModelChooser {
  const usable = Object.entries(providers).flatMap(([name, fromEnv]) => {
    const provider = fromEnv(env)
    if (!provider) return []
    const clean: ModelProvider = secrets ? (model) => withoutSecrets(provider(model), secrets) : provider
    // A run that may not wait is not served by sparing its provider.
    const gate = config.limits.modelWaitMs > 1 ? new OutageGate() : undefined
    const guarded: ModelProvider = gate ? (model) => gate.guard(clean(model)) : clean
    const { list } = provider
    return [[name, Object.assign((model: string) => retrying(guarded(model)), list && { list })] as const]
  })
  const models = Object.fromEntries(usable)
  return modelChooser({
    providers: models,
    defaultModel: config.model,
    allowed: config.models,
    prices: config.prices,
    patience: config.patience,
    windows: makeWindows?.(config.modelWindows, models),
    report,
  })
}

/** Makes what the loop takes from an edge: its hooks, its logs, and the check of answers against a schema. */
function makeLoop({ env, config, secrets, hooks, loop }: Services): LoopSetup {
  const { DEFINITIONS: definitions } = env
  return {
    ...(definitions && { validate: (schema, value) => definitions.validate(schema, value) }),
    ...(config.log === 'runs' && { observe: logs(reportTo('log', secrets), config) }),
    ...loop,
    hooks,
  }
}

/** Returns the names of the rate limits that callers may have. Keys in `KEYS` may name any. */
function rateNamesOf({ env, config, storedKeys }: Services): readonly string[] {
  const configured = [...config.apiKeys, ...config.identityProviders].flatMap(({ rate }) => rate ?? [])
  return storedKeys ? [...configured, ...rateNames(env)] : configured
}

/**
 * Makes the tools of an edge: those of the bound Workers and of the entrypoints in its own module, the stored ones, and
 * those of further sources. Throws a ConfigError for tools that are to be held back in an edge that cannot remember what
 * was accepted.
 */
function makeTools(services: Services): EdgeTools {
  const { env, config, report, acceptances, gate, isForeign, sources, rules, storedTools, search, translate } = services
  if (!acceptances && env['HOLD_CHANGED'] && config.holdChanged.length > 0) {
    throw new ConfigError('HOLD_CHANGED', '"off" in an edge without stored tools (bindings CATALOG and TOOLS)')
  }
  const workers = toolWorkers(env, { ...exports })
  const servicesOf = (isWanted: (binding: string) => boolean) =>
    serviceSource({
      report,
      bindings: Object.fromEntries(Object.entries(workers).filter(([binding]) => isWanted(binding))),
      offered: (definition) => selectsTool(config.defaultTools, definition),
      gate: (binding) => (isForeign(binding) ? gate : undefined),
    })
  return edgeTools({
    services: servicesOf((binding) => !isForeign(binding)),
    foreign: servicesOf(isForeign),
    others: sources,
    offersByDefault: (definition) => selectsTool(config.defaultTools, definition),
    rules,
    isExcluded: makeExclusion(config.defaultTools),
    patterns: { patterns: readToolPatterns(env), bindings: Object.keys(workers) },
    stored: storedTools,
    search,
    translate,
    report,
  })
}

/** Returns whether `DEFAULT_TOOLS` excludes a tool; undefined if it excludes none. */
function makeExclusion(patterns: readonly string[]): ((definition: ToolDefinition) => boolean) | undefined {
  const exclusions = patterns.filter((pattern) => pattern.startsWith('!'))
  return exclusions.length > 0 ? (definition) => !selectsTool(['*', ...exclusions], definition) : undefined
}
