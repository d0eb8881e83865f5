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
export type {
  Embed,
  ModelCapabilities,
  ModelError,
  ModelFinish,
  ModelWindow,
  Patience,
  ResponseFormat,
  ToolChoice,
} from './contract/model.ts'
export type {
  AssistantMessage,
  Content,
  DataMark,
  Message,
  Opaque,
  SystemMessage,
  ToolCall,
  UserMessage,
} from './contract/message.ts'
export type { ModelEvent, ModelRequest } from './contract/model.ts'
export type { ReportBatch, RunReporter, UnendedRun } from './contract/report.ts'
export type { Approval, ToolAnnotations, ToolCaller, ToolDefinition } from './contract/tool-definition.ts'
export type {
  Caller,
  CallStatus,
  ListPage,
  Progress,
  ReportAddress,
  SearchableTools,
  Tool,
  ToolContext,
  ToolControl,
  ToolFailure,
  ToolFault,
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
export type { DecisionModel, DecisionReply, DecisionRequest, Judge, Judgement } from './contract/decision.ts'
export type { RunFact } from './contract/event.ts'
export type { ClientTool, RunRequest, ToolSelection } from './contract/run.ts'
export type { MakeSetup, Setup } from './contract/setup.ts'
export { MeteredDirectory as Directory } from './directory/directory.ts'
export { Catalog } from './edge/catalog.ts'
export { allDecisionProviders, type DecisionsFromEnv, type DecisionsOptions } from './edge/decisions.ts'
export { createEdge, type Edge } from './edge/create-edge.ts'
export { type Env, textOf } from './edge/env.ts'
export type { EdgeOptions } from './edge/options.ts'
export type { Part, Services } from './edge/part.ts'
export * from './edge/parts.ts'
export type { ProviderTool } from './edge/provider-tools.ts'
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
export { type ToolSearchPartOptions, workersAiIndex, type WorkersAiIndexOptions } from './edge/tool-search.ts'
export { type InlineOptions, inlineSource } from './host/source/inline.ts'
export {
  alwaysEviction,
  compositeEviction,
  type Eviction,
  lruEviction,
  neverEviction,
  ttlEviction,
} from './search/tool-search.ts'
export { createFusedIndex, type SemanticOptions } from './search/semantic-index.ts'
export { createKeywordIndex, type KeywordOptions, type Translate } from './search/keyword-index.ts'
export { createRegexIndex } from './search/regex-index.ts'
export { createSemanticIndex } from './search/semantic-index.ts'
export type { FoundTool, ToolIndex } from './search/tool-index.ts'
export { toolWords } from './search/tool-words.ts'
export { createToolSearch, type ToolSearch, type ToolSearchOptions } from './search/tool-search.ts'
export { serveOutcomes } from './http/surfaces/outcomes.ts'
export type { EdgeEnv } from './http/context.ts'
export type { Surface, SurfacePart } from './http/surface.ts'
export { type AiSdkModel, type AiSdkOptions, fromAiSdk } from './model/ai-sdk.ts'
export { anthropic, type AnthropicOptions } from './model/anthropic.ts'
export { type FallbackOptions, fallingBack } from './model/retry.ts'
export {
  type DecisionBinding,
  type DecisionModels,
  type DecisionServer,
  openAiDecisions,
  systemOne,
  workersAiDecisions,
} from './model/decisions.ts'
export { gemini } from './model/gemini.ts'
export { openai, type OpenAiOptions, type ResponsesOptions } from './model/openai.ts'
export { responses } from './model/openai.ts'
export { type AiBinding, workersAi, type WorkersAiOptions } from './model/workers-ai.ts'
export type { JsonObject, JsonSchema } from './contract/json.ts'
export type { Price, Usage } from './contract/usage.ts'
export type { Citation, ProviderCall, ProviderSource, ProviderToolKind } from './contract/provider-tool.ts'
export type { CallInput, InputNeeds } from './contract/input.ts'
export type { ProgramCalls } from './contract/program.ts'
export type { ServerOptions } from './model/http-models.ts'
export type { AnswerTarget, ReplyTarget, ToolTarget, WebhookTarget } from './contract/answer-target.ts'
export { type EmailOptions, type EmailStart, emailTrigger } from './triggers/email.ts'
export {
  type CronEvent,
  cronTrigger,
  type CronTrigger,
  type EmailEvent,
  type EmailRefusal,
  type EmailTrigger,
  type IncomingEmail,
  type QueueEvent,
  queueTrigger,
  type QueueTrigger,
  type StartedRun,
  type Trigger,
  type TriggerOptions,
  type Triggers,
  type TriggerStart,
  type WebhookEvent,
  type WebhookRun,
  webhookTrigger,
  type WebhookTrigger,
} from './triggers/triggers.ts'
export type { ApproverGroups, Approvers, AskedCall, BroughtDecision, Verdict } from './approvals/approvers.ts'
export { mailApprovers, type MailApproversOptions } from './approvals/mail.ts'
export { slackApprovers, type SlackApproversOptions } from './approvals/slack.ts'
export type { SignedRequest, WebhookScheme } from './triggers/verify.ts'
export {
  discordWebhooks,
  githubWebhooks,
  graphWebhooks,
  metaWebhooks,
  shopifyWebhooks,
  slackWebhooks,
  standardWebhooks,
  stripeWebhooks,
  twilioWebhooks,
} from './triggers/services.ts'
