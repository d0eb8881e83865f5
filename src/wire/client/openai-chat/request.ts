import * as v from 'valibot'
import { isObject } from '../../../contract/json.ts'
import type { Message } from '../../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { type DecodeResult, parseBody, duplicateName } from '../body.ts'
import { checkHistory } from '../history.ts'
import type { Rounds } from '../../../contract/run-options.ts'
import type { RunOptions } from '../request.ts'
import { choiceWord, either, idSchema, plainObject, runOptionSchemas, textOr, toolReference } from '../../schema.ts'
import {
  absent,
  allowedMode,
  chooseTools,
  optionalFlag,
  formatMembers,
  functionMembers,
  number,
  openAiFault,
  type OpenAiFault,
  whichRounds,
  optionalText,
  toClientTool,
  toFormat,
} from './body.ts'
import { messageSchema } from './messages.ts'

/** The body of `POST /v1/chat/completions`, converted to our types. */
export interface ChatRequest {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly clientTools: readonly ClientTool[]
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields that are passed to the model unchanged. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
}

/** The member `edgecall` of the body, our extension of the format. */
interface EdgecallOptions extends RunOptions {
  readonly conversation?: string
  readonly rounds?: Rounds
}

export type DecodedChat =
  | { readonly ok: true; readonly request: ChatRequest }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Fields that are passed to the model. Other fields of the format, present or future, are ignored. */
export const SAMPLING = {
  temperature: number,
  top_p: number,
  stop: v.nullish(textOr(v.string())),
  seed: number,
  presence_penalty: number,
  frequency_penalty: number,
  max_tokens: number,
  max_completion_tokens: number,
  logit_bias: v.nullish(plainObject),
  reasoning_effort: optionalText,
  verbosity: optionalText,
  parallel_tool_calls: optionalFlag,
  service_tier: optionalText,
}

/** Fields that would change the answer in ways that the edge does not support. They are refused, not ignored. */
const UNSUPPORTED = {
  n: v.nullish(v.literal(1)),
  logprobs: v.nullish(v.literal(false)),
  modalities: v.nullish(v.array(v.literal('text'))),
  audio: absent,
  functions: absent,
  function_call: absent,
}

const tool = v.pipe(
  v.object({
    type: v.literal('function'),
    function: v.object(functionMembers),
  }),
  v.transform((tool) => toClientTool(tool.function)),
)

const toolOfChoice = v.object({ type: v.literal('function'), function: v.object({ name: toolReference }) })

const choiceOfTools = v.variant('type', [
  v.pipe(
    toolOfChoice,
    v.transform((choice) => ({ tool: choice.function.name })),
  ),
  v.pipe(
    v.object({
      type: v.literal('allowed_tools'),
      allowed_tools: v.object({ mode: allowedMode, tools: v.array(toolOfChoice) }),
    }),
    v.transform(({ allowed_tools: { mode, tools } }) => ({ mode, names: tools.map((tool) => tool.function.name) })),
  ),
])

const responseFormat = v.variant('type', [
  v.object({ type: v.picklist(['text', 'json_object']) }),
  v.pipe(
    v.object({
      type: v.literal('json_schema'),
      json_schema: v.object(formatMembers),
    }),
    v.transform(({ type, json_schema }) => toFormat({ type, ...json_schema })),
  ),
])

const edgecall = v.strictObject({ ...runOptionSchemas, conversation: v.exactOptional(idSchema), rounds: whichRounds })

export const chatBody = v.object({
  ...SAMPLING,
  ...UNSUPPORTED,
  model: optionalText,
  messages: v.array(messageSchema),
  stream: optionalFlag,
  stream_options: v.nullish(v.object({ include_usage: optionalFlag })),
  tools: v.nullish(v.array(tool), []),
  tool_choice: v.nullish(either(isObject, choiceOfTools, choiceWord)),
  response_format: v.nullish(responseFormat),
  edgecall: v.nullish(edgecall, {}),
})

/** Parses the body of a chat completion's request. */
export function decodeRequest(body: unknown): DecodedChat {
  const result = decode(body)
  return result.ok ? result : { ok: false, error: openAiFault(result.error, UNSUPPORTED, codeAt) }
}

function decode(body: unknown): DecodeResult<ChatRequest> {
  const result = parseBody(chatBody, body)
  if (!result.ok) return result
  const { model, tools, tool_choice, response_format, edgecall, ...rest } = result.request
  const history = checkHistory(rest.messages, 'messages', 'tool_call_id')
  if (!history.ok) return history
  const fault = duplicateName(tools, 'tools', 'function.name')
  if (fault) return fault
  const { clientTools, toolChoice, ...allowedTools } = chooseTools(tool_choice, tools)
  const sampling = Object.entries(rest).filter(([name, value]) => name in SAMPLING && value !== null)
  return {
    ok: true,
    request: {
      ...(model && { model }),
      messages: history.request,
      stream: rest.stream ?? false,
      includeUsage: rest.stream_options?.include_usage ?? false,
      clientTools,
      toolChoice,
      responseFormat: response_format ?? undefined,
      sampling: Object.fromEntries(sampling),
      edgecall: { ...edgecall, ...allowedTools },
    },
  }
}

/** Returns the code of a fault: as with OpenAI, some places have a code of their own. */
function codeAt(path: string): string {
  if (/\.(?:url|file_data)$/.test(path)) return 'unsupported_value'
  return path.endsWith('.parameters') ? 'invalid_function_parameters' : 'invalid_value'
}
