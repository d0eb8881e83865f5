/** The door for tool authors: `import { defineTool, serveTools } from 'edgecall/tool'`. */
export {
  type ConnectionService,
  EDGE_OWNER,
  type ServerConnection,
  type SignInAnswer,
  type SignInEnd,
} from './contract/connection.ts'
export type { OutcomeService, OutcomeReport, ReportReply } from './contract/later.ts'
export { pause, retryAfterMs } from './contract/time-limit.ts'
export { type BodyStart, decodeText, readBody } from './contract/bytes.ts'
export { readExactly } from './contract/exact-numbers.ts'
export { OutOfTime, withTimeLimit } from './contract/time-limit.ts'
export { type FilterOptions, secretFilter, type SecretFilter, type TextPieces } from './contract/secrets.ts'
export { countVar as wholeNumber, type Vars } from './contract/vars.ts'
export { augment, type Augmentation, type AugmentEvent } from './tool/augment.ts'
export {
  type DefinedTool,
  defineTool,
  type ToolHandlers,
  type ToolOptions,
  type ToolOutline,
  type ToolSettings,
} from './tool/define.ts'
export { toolDefinitions } from './tool/define.ts'
export { form, InputRequired, page, ToolError } from './tool/result.ts'
export { withoutHidden } from './contract/hidden-characters.ts'
export { inputSchema } from './tool/input-schema.ts'
export { defineRawTool, type Execute, jsonSchema, type RawDefinition } from './tool/json-schema.ts'
export {
  type KeepOptions,
  type KeyStatus,
  type KeyValues,
  type Once,
  onceInKv,
  onceInSql,
  type OnceOptions,
  type SqlOnce,
} from './tool/once.ts'
export { content, type ResultPart, withMetadata } from './tool/result.ts'
export type { RunContext } from './tool/run-context.ts'
export { serveTools, type ToolWorker } from './tool/serve.ts'
export type { InputSchema } from './schema/standard-schema.ts'
export { type MethodOptions, toolsOf } from './tool/define.ts'
export { nameOf, wireName } from './contract/tool-names.ts'
export { readSse, type SseFrame, type SseResume } from './wire/sse.ts'
export type { JsonObject, JsonSchema } from './contract/json.ts'
export type { Deferral, ToolFault } from './contract/tool.ts'
export type { InputNeeds, InputRequest } from './contract/input.ts'
export type { Later } from './tool/run-context.ts'
