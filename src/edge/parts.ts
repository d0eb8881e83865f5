import { keyOrderStub } from '../catalogue/stub.ts'
import { codeHook } from '../code/run-code.ts'
import type { CodeLoader } from '../code/sandbox.ts'
import { ConfigError } from '../contract/config.ts'
import { readIdentityProviders } from '../contract/identity-provider.ts'
import { isObject } from '../contract/json.ts'
import type { Signer } from '../contract/signer.ts'
import { listVar, textVar, type Vars } from '../contract/vars.ts'
import { backUpConversation } from '../conversation/backup/backup.ts'
import { modelSummaries } from '../conversation/history.ts'
import { programs } from '../loop/programs.ts'
import { ModelWindows } from '../model/windows.ts'
import { contextPlanner } from '../loop/planning/context-planner.ts'
import { webhookSender } from '../conversation/run/webhook.ts'
import { MeteredDirectory } from '../directory/directory.ts'
import { decisions } from './decisions.ts'
import { shardedDirectories, shardedRuns } from './directories.ts'
import { textOf } from './env.ts'
import type { Part, Services } from './part.ts'
import { toolSearch } from './tool-search.ts'
import { providerTools } from './provider-tools.ts'
import { mcpConnections, storedTools, toolPolicies } from './tools.ts'
import { keyStates, keyStore } from '../http/middleware/stored-keys.ts'
import { callerOfToken } from '../http/middleware/token.ts'
import { fetchFiles } from '../http/runs/files.ts'
import { makeSigner } from '../http/runs/signer.ts'
import { reportAddresses } from '../http/runs/take-report.ts'
import { agUi } from '../http/surfaces/ag-ui.ts'
import { keyRoutes } from '../http/surfaces/api-keys.ts'
import { backupRoutes } from '../http/surfaces/backups.ts'
import { chatCompletions } from '../http/surfaces/chat-completions.ts'
import { embeddings } from '../http/surfaces/embeddings.ts'
import { mcpRoutes } from '../http/surfaces/mcp.ts'
import { taskModels } from '../http/surfaces/mcp-tasks.ts'
import { TASK_MODELS, TASK_PROVIDER } from '../contract/mcp-task.ts'
import { mcpMetadata } from '../http/surfaces/mcp-metadata.ts'
import { messagesApi } from '../http/surfaces/messages.ts'
import { outcomes } from '../http/surfaces/outcomes.ts'
import { responsesApi } from '../http/surfaces/responses.ts'
import { runList } from '../http/surfaces/run-list.ts'
import { uiChat } from '../http/surfaces/ui-chat.ts'
import { metricsRoute, usageBy } from '../http/surfaces/metrics.ts'
import { metricsReporter, writesDataPoints } from '../observe/run-report.ts'
import { otlpReporter } from '../observe/otlp.ts'
import { scheduleRoutes } from '../triggers/routes.ts'
import { schedulesObject } from '../triggers/schedules.ts'
import { scheduleToolSource } from '../triggers/tools.ts'
import { approvalReporter, type ApproverGroups } from '../approvals/approvers.ts'
import { approverRoutes } from '../approvals/routes.ts'
import { readPolicies } from '../host/policy/policies.ts'
import { answerReporter } from '../triggers/answers.ts'
import { triggerHandlers, type Triggers } from '../triggers/triggers.ts'
import { reportSharedSecrets, webhookRoutes } from '../triggers/webhooks.ts'

/*
 * All parts but those that serve pages: the package exports them by these names, and `everything` uses them in this
 * order. A new part is written here, or in a file of its own beside this one, and named in `allParts`.
 */
export {
  agUi,
  chatCompletions,
  decisions,
  embeddings,
  mcpConnections,
  messagesApi,
  metricsRoute,
  providerTools,
  responsesApi,
  runList,
  shardedDirectories,
  storedTools,
  toolPolicies,
  toolSearch,
  uiChat,
}

/** Makes one of each part, as it is without options. */
export function allParts(): readonly Part[] {
  return [
    chatCompletions,
    responsesApi,
    messagesApi,
    embeddings,
    uiChat,
    agUi,
    mcp,
    metricsRoute,
    runList,
    storedTools,
    toolSearch(),
    contextPlanning,
    codeMode(),
    identityTokens,
    toolPolicies,
    decisions(),
    disabledKeys,
    storedKeys,
    linkedFiles,
    mcpConnections,
    backups,
    reportedOutcomes,
    webhooks,
    schedules,
    summaries,
    shardedDirectories,
    metrics,
    traces,
  ]
}

/**
 * Context planning: what a model is sent of a long conversation is reduced in steps, so that it fits the window of the model
 * and stays in the cache of its provider. Without this part a model is sent the newest turns (`window` of the conversation),
 * and what does not fit fails with `context_exceeded`.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [contextPlanning] })
 */
export const contextPlanning: Part = {
  name: 'contextPlanning',
  extend: ({ loop }) => ({
    loop: { planner: contextPlanner, ...loop },
    makeWindows: (...known) => new ModelWindows(...known),
  }),
}

/**
 * Code mode: models may write programs that call tools (`run_code`), so that what the calls give need not pass through the
 * model. Off unless `CODE_MODE`, a conversation or a request says `also` or `only`. Needs the binding `LOADER`
 * (`[[worker_loaders]]`), in which programs run.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [codeMode()] })
 */
export function codeMode(): Part {
  return {
    name: 'codeMode',
    needs: ({ LOADER: loader }, { code }) =>
      code === 'off' || isLoader(loader) ? undefined : 'the binding LOADER (worker_loaders), or CODE_MODE = "off"',
    // The last hook: what the others leave out of a step, or bring into it, is seen.
    extend: ({ env: { LOADER: loader }, hooks, loop }) => ({
      hooks: [...hooks, codeHook(isLoader(loader) ? loader : undefined)],
      loop: { ...loop, features: [...(loop.features ?? []), programs] },
    }),
  }
}

function isLoader(binding: unknown): binding is CodeLoader {
  return isObject(binding) && typeof binding['load'] === 'function'
}

/**
 * Summaries: a model makes notes on the messages that leave the window of a conversation (`MEMORY_SUMMARY`, or
 * `window.summary` of the conversation), which later runs see in place of these messages.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [summaries] })
 */
export const summaries: Part = {
  name: 'summaries',
  extend: () => ({ summaries: modelSummaries }),
}

/**
 * Webhooks: a URL that a conversation is created with is notified when a run ends or waits for an approval. The messages
 * are signed with `WEBHOOK_SECRET`, and go to `WEBHOOK_HOSTS` alone.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [webhooks] })
 */
export const webhooks: Part = {
  name: 'webhooks',
  extend: ({ env, config: { webhookHosts: hosts, auth }, report }) => ({
    webhooks: webhookSender({ secret: textOf(env, 'WEBHOOK_SECRET'), hosts, isOpen: auth === 'open', report }),
  }),
}

/**
 * Schedules: runs that start by themselves, by cron, at a time or every so many seconds (`PUT /schedules/{name}`). Needs
 * the binding `SCHEDULES`, and the class `Schedules` among the exports; an edge without that binding has no schedules.
 *
 * @example
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [schedules] })
 * export const { Conversation, Directory, Schedules } = edge
 */
export const schedules: Part = {
  name: 'schedules',
  surfaces: [scheduleRoutes],
  extend: ({ env: { SCHEDULES: namespace } }) => ({ schedules: namespace }),
  objects: { Schedules: schedulesObject },
}

/**
 * Tools with which a model makes, lists and removes schedules: `setSchedule`, which a person approves, `listSchedules` and
 * `removeSchedule`, for keys with the scope `schedules`. They are offered to requests that name them.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [schedules, scheduleTools] })
 */
export const scheduleTools: Part = {
  name: 'scheduleTools',
  extend: ({ sources, setup }) => ({ sources: [...sources, scheduleToolSource(setup)] }),
}

/**
 * Triggers: events that start runs, by name: times of the platform's cron triggers, messages of queues, mail, and signed
 * requests of other services (`/triggers/{name}`). The edge then also has the handlers `scheduled`, `queue` and
 * `email`.
 *
 * @example
 * const edge = createEdge({
 *   providers: { openai: openaiFromEnv },
 *   use: [
 *     triggers({
 *       orders: queueTrigger({ queue: 'orders', as: 'orders', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) }),
 *     }),
 *   ],
 * })
 */
export function triggers(table: Triggers): Part {
  return {
    name: 'triggers',
    surfaces: [webhookRoutes(table)],
    extend: ({ env, report, setup, reporters = [] }) => {
      reportSharedSecrets(table, env, report)
      return { triggerEnv: env, reporters: [...reporters, answerReporter(setup)] }
    },
    handlers: (makeSetup) => triggerHandlers(table, makeSetup),
  }
}

/**
 * Linked files: the edge fetches the files that messages link to from `FILE_HOSTS`, and that the model's server does not
 * fetch by itself, so that they are sent as data.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [linkedFiles] })
 */
export const linkedFiles: Part = { name: 'linkedFiles', extend: () => ({ fetchFiles }) }

/**
 * Tokens of the identity providers that `IDENTITY_PROVIDERS` names, beside API keys. An edge with that variable must name
 * this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [identityTokens] })
 */
export const identityTokens: Part = {
  name: 'identityTokens',
  extend: ({ env, config, identityTokens: others }) => ({
    config: { ...config, identityProviders: readIdentityProviders(env) },
    identityTokens: async (...request) => (await callerOfToken(...request)) ?? others?.(...request),
  }),
}

/**
 * API keys that are disabled without a deployment: the binding `KEYS`, a KV namespace, lists them, and is told when each
 * key was last used. An edge with that binding must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [disabledKeys] })
 */
export const disabledKeys: Part = {
  name: 'disabledKeys',
  extend: ({ env: { KEYS: namespace, CATALOG: catalogues }, report }) => {
    const order = catalogues && keyOrderStub(catalogues)
    return { keyStates: namespace && keyStates({ namespace, order, report }) }
  },
}

/**
 * API keys in the binding `KEYS`, a KV namespace, beside those of `API_KEYS`: `/keys` makes, changes, rotates, disables,
 * removes and lists them, with the scope `keys`. An edge without that binding has none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [disabledKeys, storedKeys] })
 */
export const storedKeys: Part = {
  name: 'storedKeys',
  surfaces: [keyRoutes],
  extend: ({ env: { KEYS: namespace, CATALOG: catalogues }, report }) => {
    const order = catalogues && keyOrderStub(catalogues)
    return { storedKeys: namespace && keyStore({ namespace, order, report }) }
  },
}

/**
 * Metrics and usage: each run that has ended is counted once for its tenant. The part `metricsRoute` serves the metrics,
 * and `GET /usage?by=` the usage; the part `runList` serves the list of runs and of the calls that wait for people. The
 * binding `METRICS`, an Analytics Engine dataset, gets a data point for each run too.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [metrics, metricsRoute] })
 */
export const metrics: Part = {
  name: 'metrics',
  surfaces: [usageBy],
  extend: ({ env, config, reporters = [] }) => {
    const runDirectories = shardedRuns(env.DIRECTORIES, config.directoryShards)
    const { METRICS: dataset } = env
    const reporter = metricsReporter(runDirectories, writesDataPoints(dataset) ? dataset : undefined)
    return { runDirectories, reporters: [...reporters, reporter] }
  },
  objects: { Directory: MeteredDirectory },
}

/**
 * Traces: each run that has ended is sent to an OpenTelemetry collector over OTLP/HTTP, if `OTLP_ENDPOINT` names one.
 * OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, do the same.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [traces] })
 */
export const traces: Part = {
  name: 'traces',
  extend: ({ env, config: { includeContent }, deployment, reporters = [] }) => {
    const endpoint = textVar(env, 'OTLP_ENDPOINT') ?? textVar(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
    if (endpoint === undefined) return {}
    if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) throw new ConfigError('OTLP_ENDPOINT', 'a URL')
    const base = endpoint.replace(/\/+$/, '')
    const reporter = otlpReporter({
      url: base.endsWith('/v1/traces') ? base : `${base}/v1/traces`,
      headers: headersOf(env['OTLP_HEADERS'] === undefined ? 'OTEL_EXPORTER_OTLP_HEADERS' : 'OTLP_HEADERS', env),
      service: textVar(env, 'OTEL_SERVICE_NAME') ?? 'edgecall',
      version: deployment,
      includeContent,
    })
    return { reporters: [...reporters, reporter], hasSpans: true }
  },
}

/** Reads headers as OpenTelemetry's variables have them: `name=value,name=value`, with percent-encoded values. */
function headersOf(name: string, env: Vars): Record<string, string> {
  const pairs = (listVar(env, name) ?? []).map((pair): [string, string] => {
    const [, header, value] = /^([\w-]+)\s*=\s*(.+)$/.exec(pair) ?? []
    if (header === undefined || value === undefined) throw new ConfigError(name, 'a list of name=value')
    return [header, decodeURIComponent(value)]
  })
  return Object.fromEntries(pairs)
}

/**
 * Backups: `GET` and `PUT /backups/{conversation}` copy a conversation out of an edge and into one, and
 * `POST /backups/{conversation}/rewind` takes it back to an earlier time. The scope is `backup`. Copies are signed with
 * `OUTCOME_SECRET`: one that is not is restored as data of the caller who brings it.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [backups] })
 */
export const backups: Part = {
  name: 'backups',
  surfaces: [backupRoutes],
  extend: (services) => ({ backups: backUpConversation, copySigner: signerFor('copy', services) }),
}

/**
 * `/mcp`: the edge's tools for clients of the Model Context Protocol, who find the identity providers to sign in with in
 * `/.well-known/oauth-protected-resource`. Questions of tools are passed on to the people behind these clients, signed
 * with `OUTCOME_SECRET`.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [mcp] })
 */
export const mcp: Part = {
  name: 'mcp',
  surfaces: [mcpRoutes, mcpMetadata],
  extend: (services) => ({
    questionSigner: signerFor('question', services),
    // What answers in the place of a model while a tool is called as a task.
    providers: { ...services.providers, [TASK_PROVIDER]: () => taskModels },
    config: { ...services.config, models: [...services.config.models, TASK_MODELS] },
  }),
}

/**
 * Outcomes that tools report later: `POST /outcomes/{token}`, and `serveOutcomes` for service bindings. Tokens are signed
 * with `OUTCOME_SECRET`; an edge that answers on loopback alone needs none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [reportedOutcomes] })
 */
export const reportedOutcomes: Part = {
  name: 'reportedOutcomes',
  surfaces: [outcomes],
  extend: (services) => {
    const secrets = signingSecrets(services)
    const edgeUrl = textVar(services.env, 'EDGE_URL')?.replace(/\/+$/, '')
    if (edgeUrl !== undefined && !/^https?:\/\/[^/]+$/.test(edgeUrl)) {
      throw new ConfigError('EDGE_URL', 'an address such as https://edge.example.com')
    }
    if (secrets.length === 0) return {}
    return { reportAddresses: reportAddresses({ secrets, edgeUrl, filter: services.secrets }) }
  },
}

/**
 * Approvers: people who are asked in Slack, by mail or elsewhere about calls that need an approval. A policy says which group is
 * asked about a tool (`approvers` in `TOOL_POLICY`). What they are sent is signed with `OUTCOME_SECRET`. Needs the part
 * `toolPolicies`, and for links `EDGE_URL`.
 *
 * @example
 * const board = mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people: { 'ann@example.com': 'ann' } })
 * createEdge({ providers: { openai: openaiFromEnv }, use: [toolPolicies, approvers({ board })] })
 */
export function approvers(groups: ApproverGroups): Part {
  return {
    name: 'approvers',
    needs: (env, { auth }, parts) => {
      if (!parts.includes('toolPolicies')) return 'the part toolPolicies'
      if (auth !== 'open' && !listVar(env, 'OUTCOME_SECRET')) return 'the secret OUTCOME_SECRET'
      const needsAddress = Object.values(groups).some(({ sendsLinks }) => sendsLinks)
      return needsAddress && !textVar(env, 'EDGE_URL') ? 'the variable EDGE_URL' : undefined
    },
    surfaces: [approverRoutes(groups)],
    extend: (services) => {
      const { env, setup, reporters = [] } = services
      const names = Object.values(readPolicies(env)).flatMap((policy) => policy.approvers ?? [])
      const unknown = names.find((name) => !Object.hasOwn(groups, name))
      if (unknown !== undefined)
        throw new ConfigError(
          'TOOL_POLICY',
          `without the approvers "${unknown}", whom the part approvers does not have`,
        )
      return {
        approvalSigner: signerFor('approval', services),
        triggerEnv: env,
        reporters: [...reporters, approvalReporter(groups, setup)],
      }
    },
  }
}

/** Returns what signs texts for one purpose; undefined without a secret. */
function signerFor(purpose: string, services: Services): Signer | undefined {
  const secrets = signingSecrets(services)
  return secrets.length > 0 ? makeSigner(secrets, purpose) : undefined
}

/**
 * Returns the secrets with which an edge signs what it makes and takes back, such as copies of conversations: the first
 * signs, all are accepted. An edge that answers on loopback alone needs none.
 */
function signingSecrets({ env, config }: Services): readonly string[] {
  return listVar(env, 'OUTCOME_SECRET') ?? (config.auth === 'open' ? ['open'] : [])
}
