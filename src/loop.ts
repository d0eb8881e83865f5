/** The door for programs that drive the loop themselves: ask a model, run the calls it asks for, ask again. */
export { memory, type Memory } from './loop/window/sliding.ts'
export type { Hook, HookContext, LoopSetup, StepAnswer } from './contract/hook.ts'
export {
  collect,
  CollectError,
  executeToolCalls,
  type ManualOptions,
  type ManualResult,
  type PersonDecision,
} from './loop/manual.ts'
export { hashArguments } from './contract/message.ts'
export type { RunEvent } from './contract/event.ts'
export type { CallFault, ExecuteOptions, StepContext } from './contract/hook.ts'
export type { Limits } from './contract/limits.ts'
export type {
  AssistantMessage,
  Content,
  DataMark,
  Message,
  Opaque,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from './contract/message.ts'
export type {
  ChatModel,
  ModelCapabilities,
  ModelError,
  ModelEvent,
  ModelFinish,
  ModelRequest,
  ModelWindow,
  Patience,
  ResponseFormat,
  ToolChoice,
} from './contract/model.ts'
export type { ClientTool, RunRequest, ToolSelection } from './contract/run.ts'
export type { Approval, ToolAnnotations, ToolCaller, ToolDefinition } from './contract/tool-definition.ts'
export type { Tool, ToolControl, ToolFailure, ToolFault, ToolOutcome, ToolRequest } from './contract/tool.ts'
export { type InlineOptions, inlineSource } from './host/source/inline.ts'
export type { JsonObject, JsonSchema } from './contract/json.ts'
export type { Price, Usage } from './contract/usage.ts'
export type { WindowOptions } from './contract/conversation.ts'
export type { ProgramCalls } from './contract/program.ts'
