import type { Hook, LoopSetup } from '../contract/hook.ts'
import type { FetchFiles, IdentityTokens, Setup } from '../contract/setup.ts'
import type { Summaries } from '../contract/summaries.ts'
import type { ToolSource } from '../contract/tool.ts'
import type { BackupsFeature } from './backups.ts'
import type { ConnectionsFeature } from './connections.ts'
import type { DisabledKeysFeature } from './disabled-keys.ts'
import type { Env } from './env.ts'
import type { MetricsFeature } from './metrics.ts'
import type { ProviderFromEnv } from './providers.ts'
import type { shardedDirectories } from './sharded-directories.ts'
import type { OutcomesFeature } from './reported-outcomes.ts'
import type { StoredKeysFeature } from './stored-keys.ts'
import type { StoredToolsFeature } from './stored-tools.ts'
import type { PoliciesFeature } from './tool-policies.ts'
import type { ToolSearchFeature } from './tool-search.ts'
import type { TracesFeature } from './traces.ts'
import type { WebhooksFeature } from './webhooks.ts'

/** What an edge is made of. What is not named here is not in the bundle. */
export interface SetupOptions {
  /** The model providers, by the part of a model's name before the slash: `openai` serves `openai/gpt-4.1-mini`. */
  readonly providers: Readonly<Record<string, ProviderFromEnv>>
  /** `storedTools`. Default: tools are bound Workers alone. */
  readonly stored?: StoredToolsFeature
  /** `identityTokens`: accepts tokens of `IDENTITY_PROVIDERS`. Default: API keys alone. */
  readonly identity?: IdentityTokens
  /** `toolPolicies`: the operator's policies for tools, in `TOOL_POLICY`. Default: tools are as they say themselves. */
  readonly policies?: PoliciesFeature
  /** `disabledKeys`: keys that the binding `KEYS` disables. Default: a key holds until it expires or is removed. */
  readonly disabledKeys?: DisabledKeysFeature
  /** `storedKeys`: API keys in the binding `KEYS`, beside those of `API_KEYS`. Default: there are none. */
  readonly storedKeys?: StoredKeysFeature
  /**
   * `linkedFiles`: fetches the files that messages link to from `FILE_HOSTS`, for models that do not. Default: such links
   * are refused.
   */
  readonly files?: FetchFiles
  /** `mcpConnections`: access to MCP servers by OAuth. Default: by the headers of their configuration alone. */
  readonly connections?: ConnectionsFeature
  /** `toolSearch()`. Default: models are given all tools on offer. */
  readonly search?: ToolSearchFeature
  /** `backups`: copies of conversations, and their recovery. Default: there are none. */
  readonly backups?: BackupsFeature
  /** `webhooks`: notices of runs to the URLs of conversations. Default: no conversation can have one. */
  readonly webhooks?: WebhooksFeature
  /** `summaries`: notes on the messages that leave a conversation's window. Default: models do not see those messages. */
  readonly summaries?: Summaries
  /** `shardedDirectories`: divides the directory of each tenant among `DIRECTORY_SHARDS` objects. Default: it is one. */
  readonly shards?: typeof shardedDirectories
  /** `metrics`: counts what runs do and spend. Default: only budgets are counted. */
  readonly metrics?: MetricsFeature
  /** `traces`: sends each run to an OpenTelemetry collector. Default: none is. */
  readonly traces?: TracesFeature
  /** `reportedOutcomes`: takes outcomes that tools report later. Default: tools that answer later are polled. */
  readonly outcomes?: OutcomesFeature
  /** Further tools, such as `agentSource(agents, setup)`. `setup` is that of the edge. Default: none. */
  readonly sources?: (setup: Setup, env: Env) => readonly ToolSource[]
  /** Functions around the loop, the first outermost. Default: none. */
  readonly hooks?: readonly Hook[]
  /** Replacements for parts of the loop. Default: none. */
  readonly loop?: Omit<LoopSetup, 'hooks'>
  /** Chooses tools by model, for requests that name none. Default: `DEFAULT_TOOLS`. */
  readonly toolsOf?: Setup['toolsOf']
  /** Returns the trusted context of a caller, such as the plan of its tenant. Tools get it; no request can set it. */
  readonly trusted?: Setup['trusted']
}
