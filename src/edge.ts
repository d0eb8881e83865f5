/**
 * The door for an edge Worker: `createEdge` and what an edge can be made of. What is not named is not in the bundle.
 *
 * @example
 * import { chatCompletions, createEdge, openaiFromEnv } from 'edgecall'
 *
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [chatCompletions] })
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
export type { CallFault, ActiveTools } from './contract/hook.ts'
export type { Embed } from './contract/model.ts'
export type { Message, ToolCall } from './contract/message.ts'
export type { ModelEvent, ModelRequest } from './contract/model.ts'
export type { RunReporter } from './contract/report.ts'
export type {
  CallStatus,
  Caller,
  ListPage,
  Progress,
  SearchableTools,
  Tool,
  ToolContext,
  ToolControl,
  ToolDefinition,
  ToolFinder,
  ToolListing,
  ToolOrigin,
  ToolOutcome,
  ToolRequest,
  ToolSource,
  ToolSuccess,
  ToolText,
  Unavailable,
} from './contract/tool.ts'
export type { ChatModel, ModelProvider } from './contract/model.ts'
export type { RunFact } from './contract/event.ts'
export type { RunRequest } from './contract/run.ts'
export type { Setup } from './contract/setup.ts'
export { MeteredDirectory as Directory } from './directory/directory.ts'
export { Catalog } from './edge/catalog.ts'
export { createEdge, type Edge } from './edge/create-edge.ts'
export { type Env, textOf } from './edge/env.ts'
export type { EdgeOptions } from './edge/options.ts'
export type { Part, Services } from './edge/part.ts'
export * from './edge/parts.ts'
export {
  allProviders,
  anthropicFromEnv,
  geminiFromEnv,
  openaiFromEnv,
  type ProviderFromEnv,
  responsesFromEnv,
  workersAiFromEnv,
} from './edge/providers.ts'
export { makeSetup } from './edge/setup.ts'
export { type ToolSearchPartOptions, workersAiIndex } from './edge/tool-search.ts'
export { type InlineOptions, inlineSource } from './host/source/inline.ts'
export {
  alwaysEviction,
  compositeEviction,
  type Eviction,
  lruEviction,
  neverEviction,
  ttlEviction,
} from './search/eviction.ts'
export { createFusedIndex } from './search/semantic-index.ts'
export { createKeywordIndex } from './search/keyword-index.ts'
export { createRegexIndex } from './search/regex-index.ts'
export { createSemanticIndex } from './search/semantic-index.ts'
export type { FoundTool, ToolIndex } from './search/tool-index.ts'
export { createToolSearch, type ToolSearch, type ToolSearchOptions } from './search/tool-search.ts'
export { serveOutcomes } from './http/app/outcome-service.ts'
export type { EdgeEnv } from './http/context.ts'
export type { Surface, SurfacePart } from './http/surface.ts'
export { fromAiSdk } from './model/ai-sdk.ts'
export { anthropic } from './model/anthropic.ts'
export { fallingBack } from './model/retry.ts'
export { gemini } from './model/gemini.ts'
export { openai } from './model/openai.ts'
export { responses } from './model/openai.ts'
export { workersAi } from './model/workers-ai.ts'
export {
  type CronEvent,
  cronTrigger,
  type QueueEvent,
  queueTrigger,
  type Trigger,
  type Triggers,
  type TriggerStart,
  type WebhookEvent,
  webhookTrigger,
} from './triggers/triggers.ts'
export {
  githubWebhooks,
  type SignedRequest,
  slackWebhooks,
  standardWebhooks,
  stripeWebhooks,
  type WebhookScheme,
} from './triggers/verify.ts'
