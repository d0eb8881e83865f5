/**
 * The door for an edge Worker: `createEdge` and what an edge can be made of. What is not named is not in the bundle.
 *
 * @example
 * import { chatCompletions, createEdge, openaiFromEnv } from 'edgecall'
 *
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, surfaces: [chatCompletions] })
 * export const { Conversation, Directory } = edge
 * export default edge
 */
export type {
  ExecuteOptions,
  Hook,
  HookContext,
  LoopSetup,
  Observer,
  StepAnswer,
  StepContext,
} from './contract/hook.ts'
export type { ChatModel, ModelProvider } from './contract/model.ts'
export type { RunFact } from './contract/event.ts'
export type { RunRequest } from './contract/run.ts'
export type { Setup } from './contract/setup.ts'
export { MeteredDirectory as Directory } from './conversation/metered-directory.ts'
export { backups, type BackupsFeature } from './edge/backups.ts'
export { type ConnectionsFeature, mcpConnections } from './edge/connections.ts'
export { Catalog } from './edge/catalog.ts'
export { createEdge, type Edge, type EdgeOptions } from './edge/create-edge.ts'
export { disabledKeys, type DisabledKeysFeature } from './edge/disabled-keys.ts'
export { storedKeys, type StoredKeysFeature } from './edge/stored-keys.ts'
export { type Env, textOf } from './edge/env.ts'
export {
  allProviders,
  anthropicFromEnv,
  geminiFromEnv,
  openaiFromEnv,
  type ProviderFromEnv,
  responsesFromEnv,
  workersAiFromEnv,
} from './edge/providers.ts'
export type { SetupOptions } from './edge/options.ts'
export { type OutcomesFeature, reportedOutcomes } from './edge/reported-outcomes.ts'
export { makeSetup } from './edge/setup.ts'
export { shardedDirectories } from './edge/sharded-directories.ts'
export { storedTools } from './edge/stored-tools.ts'
export { createFusedIndex } from './search/fused-index.ts'
export { createKeywordIndex } from './search/keyword-index.ts'
export { createSemanticIndex } from './search/semantic-index.ts'
export { createToolSearch } from './search/tool-search.ts'
export { type PoliciesFeature, toolPolicies } from './edge/tool-policies.ts'
export { toolSearch, type ToolSearchFeatureOptions } from './edge/tool-search.ts'
export { workersAiIndex } from './edge/workers-ai-index.ts'
export { metrics } from './edge/metrics.ts'
export { summaries } from './edge/summaries.ts'
export { traces } from './edge/traces.ts'
export { webhooks, type WebhooksFeature } from './edge/webhooks.ts'
export { serveOutcomes } from './http/app/outcome-service.ts'
export type { Surface } from './http/surface.ts'
export { identityTokens } from './http/middleware/token.ts'
export { linkedFiles } from './http/runs/fetch-files.ts'
export { agUi } from './http/surfaces/ag-ui.ts'
export { chatCompletions } from './http/surfaces/chat-completions.ts'
export { mcp } from './http/surfaces/mcp.ts'
export { metricsRoute } from './http/surfaces/metrics.ts'
export { responsesApi } from './http/surfaces/responses.ts'
export { runList } from './http/surfaces/run-list.ts'
export { uiChat } from './http/surfaces/ui-chat.ts'
export { fromAiSdk } from './model/ai-sdk.ts'
export { anthropic } from './model/anthropic.ts'
export { fallingBack } from './model/fallback.ts'
export { gemini } from './model/gemini.ts'
export { openai } from './model/openai.ts'
export { responses } from './model/responses.ts'
export { workersAi } from './model/workers-ai.ts'
