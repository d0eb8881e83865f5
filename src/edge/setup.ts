import { ConfigError, readConfig } from '../contract/config.ts'
import { oldVars } from '../contract/vars.ts'
import { secretFilter } from '../contract/secrets.ts'
import type { Setup } from '../contract/setup.ts'
import type { ToolSource } from '../contract/tool.ts'
import { inOrder } from '../host/source/chain.ts'
import type { Signer } from '../contract/signer.ts'
import { makeSigner } from '../http/runs/signer.ts'
import { signingSecrets } from './signing-secrets.ts'
import type { Env } from './env.ts'
import { makeLoop } from './loop.ts'
import { makeModels } from './models.ts'
import type { SetupOptions } from './options.ts'
import type { SetupParts } from './parts.ts'
import { reportTo } from './report.ts'
import { secretsOf } from './secret-values.ts'
import { makeTools } from './tools.ts'

/**
 * Puts the parts of an edge together from its env. Called once per isolate and env. Throws a ConfigError that names the
 * first variable that cannot be read.
 *
 * @example
 * const setup = makeSetup(env, { providers: { openai: openaiFromEnv } })
 */
export function makeSetup(env: Env, options: SetupOptions): Setup {
  const config = readConfig(env, options.identity?.readProviders)
  const secrets = secretFilter(secretsOf(env))
  const parts: SetupParts = { env, config, secrets, report: reportTo('error', secrets) }
  const { report } = parts
  requireParts(parts, options)
  for (const [variable, newName] of oldVars(env)) report({ event: 'variable.renamed', variable, newName })
  const { sources } = options
  const others = sources ? [lazySource(() => inOrder(sources(setup, env), report))] : []
  const { tools, finder, stored, rates, approvals, policies } = makeTools(parts, options, others)
  const connections = options.connections?.service(env)
  const traceReporter = options.traces?.(parts)
  const runDirectories = options.metrics?.runs(env.DIRECTORIES, config.directoryShards)
  const metricsReporter = runDirectories && options.metrics?.reporter(parts, runDirectories)
  const reporters = [metricsReporter, traceReporter].filter((each) => each !== undefined)
  const storedKeys = options.storedKeys?.keys(parts)
  const disabledKeys = options.disabledKeys?.(parts)
  const setup: Setup = {
    config,
    models: makeModels(parts, options.providers),
    tools,
    policies,
    ...(finder && { finder }),
    stored,
    ...(approvals && { acceptances: approvals }),
    conversations: env.CONVERSATIONS,
    directories: options.shards?.(env.DIRECTORIES, config.directoryShards) ?? env.DIRECTORIES,
    report,
    ...(secrets && { secrets }),
    rates,
    reportAddresses: options.outcomes?.addresses(parts),
    questionSigner: questionSigner(parts),
    ...(connections && { connections }),
    ...(options.backups && { backups: options.backups.conversations, copySigner: options.backups.signer(parts) }),
    ...(options.identity && { identityTokens: options.identity }),
    ...(disabledKeys && { keyStates: disabledKeys }),
    ...(storedKeys && { storedKeys }),
    ...(options.files && { fetchFiles: options.files }),
    ...(options.webhooks && { webhooks: options.webhooks(parts) }),
    ...(options.summaries && { summaries: options.summaries }),
    ...(reporters.length > 0 && { reporters }),
    ...(traceReporter && { hasSpans: true }),
    ...(runDirectories && { runDirectories }),
    ...(options.toolsOf && { toolsOf: options.toolsOf }),
    ...(options.trusted && { trusted: options.trusted }),
    loop: makeLoop(parts, options, finder),
  }
  return setup
}

function questionSigner(parts: SetupParts): Signer | undefined {
  const secrets = signingSecrets(parts)
  return secrets.length > 0 ? makeSigner(secrets, 'question') : undefined
}

/** Throws a ConfigError for a setting that would have no effect, because the edge is made without the part that reads it. */
function requireParts({ env, config }: SetupParts, options: SetupOptions): void {
  const required = (variable: string, isSet: boolean, part: string, isNamed: boolean) => {
    if (isSet && !isNamed) throw new ConfigError(variable, `unset in an edge without ${part}`)
  }
  required('IDENTITY_PROVIDERS', Boolean(env['IDENTITY_PROVIDERS']), 'identityTokens', options.identity !== undefined)
  required('KEYS', env.KEYS !== undefined, 'disabledKeys', options.disabledKeys !== undefined)
  required('TOOL_POLICY', Boolean(env['TOOL_POLICY']), 'toolPolicies', options.policies !== undefined)
  required('DIRECTORY_SHARDS', config.directoryShards > 1, 'shardedDirectories', options.shards !== undefined)
  required('WEBHOOK_SECRET', Boolean(env['WEBHOOK_SECRET']), 'webhooks', options.webhooks !== undefined)
  required('MEMORY_SUMMARY', config.window.summary === true, 'summaries', options.summaries !== undefined)
  required('FILE_HOSTS', config.fileHosts.length > 0, 'linkedFiles', options.files !== undefined)
}

/** Makes a source when it is first asked, since sources such as agents need the setup that they become part of. */
function lazySource(make: () => ToolSource): ToolSource {
  let source: ToolSource | undefined
  const get = () => (source ??= make())
  return { list: (page) => get().list(page), offered: () => get().offered(), find: (names) => get().find(names) }
}
