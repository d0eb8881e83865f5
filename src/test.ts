/**
 * The door for tests of tool Workers and edges, in Node: a Worker on workerd, the checks of the tool contract and of
 * stored definitions, models that follow a script or a recording, and tools that fail as a test wants them to.
 */
export type { ToolAnnotations, ToolDefinition } from './contract/tool-definition.ts'
export type {
  ReportAddress,
  ToolContext,
  ToolDescription,
  ToolFailure,
  ToolOutcome,
  ToolRequest,
  ToolService,
} from './contract/tool.ts'
export { checkConformance } from './testing/call-checks.ts'
export { definitionIssues } from './testing/call-checks.ts'
export type { ContractPart, Fault } from './testing/call-checks.ts'
export { type FaultyTool, type FaultyToolOptions, startFaultyTool, type InjectedFault } from './testing/faulty-tool.ts'
export { type SendToTool, type ToolHttpRequest, toolServiceAt } from './testing/running-tool.ts'
export { type RecordedModel, type RecordedModelOptions, startRecordedModel } from './testing/recorded-model.ts'
export { type RunningTool, startTool, type StartToolOptions } from './testing/running-tool.ts'
export {
  type ScriptedAnswer,
  type ScriptedFailure,
  type ScriptedRequest,
  type ScriptedServer,
  type ScriptedSpeech,
  startScriptedModel,
} from './testing/scripted-model.ts'
export type { Abort, ConformanceOptions, TestedService, ToolArguments, ToolCase } from './testing/call-checks.ts'
export { type HeldPlatform, platform, type PlatformOptions } from './testing/platform.ts'
export type { PassedLimit } from './platform/invocation.ts'
export type { JsonObject, JsonSchema } from './contract/json.ts'
export type { Usage } from './contract/usage.ts'
export type { DataMark } from './contract/message.ts'
export type { CallInput } from './contract/input.ts'
