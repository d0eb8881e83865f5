import { isObject } from '../../../contract/json.ts'
import { contentText, type Message } from '../../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { Rounds } from '../../../contract/run-options.ts'
import type { ClientTool, ToolSelection } from '../../../contract/run.ts'
import { type BodyFault, type DecodeResult, duplicateName, parseBody } from '../body.ts'
import { checkHistory, dataUrl, fileUrl } from '../history.ts'
import { type Hint, hintsIn, ignoredMembers } from '../members.ts'
import { customCall, customTool, toCustomFunction } from './custom-tools.ts'
import { CHAT_MEMBERS } from './members.ts'
import { ignoredInChat } from './nested-members.ts'
import type { RunOptions } from '../request.ts'
import { fromChatCall } from '../../provider/openai-chat/request.ts'
import {
  choiceWord,
  either,
  idSchema,
  isText,
  parametersSchema,
  partsOf,
  formatSchema,
  plainObject,
  runOptionSchemas,
  someText,
  textOr,
  toolName,
  toolReference,
  setting,
} from '../../schema.ts'
import * as v from 'valibot'

/** Schemas that the request bodies of OpenAI's two formats share. */
export const optionalText = v.nullish(v.string())
export const number = v.nullish(setting)
export const optionalFlag = v.nullish(v.boolean())
export const absent = v.nullish(v.custom<undefined>(() => false, 'is not supported.'))

/** The members of a function, which is a tool that the caller runs. */
export const functionMembers = {
  name: toolName,
  description: v.nullish(v.string(), ''),
  parameters: v.nullish(parametersSchema, {}),
  strict: optionalFlag,
}

type CallerFunction = v.InferOutput<v.ObjectSchema<typeof functionMembers, undefined>>

export function toClientTool({ name, description, parameters, strict }: CallerFunction): ClientTool {
  return { name, description, inputSchema: parameters, ...(strict && { strict }) }
}

/** The members of an answer format of type `json_schema`. */
export const formatMembers = { name: v.string(), schema: formatSchema, strict: optionalFlag }

type AnswerFormat =
  | { readonly type: 'text' | 'json_object' }
  | ({ readonly type: 'json_schema' } & v.InferOutput<v.ObjectSchema<typeof formatMembers, undefined>>)

export function toFormat(format: AnswerFormat): ResponseFormat {
  if (format.type !== 'json_schema') return format
  const { strict, ...rest } = format
  return { ...rest, ...(typeof strict === 'boolean' && { strict }) }
}

/** The mode of a tool choice of type `allowed_tools`. */
export const allowedMode = v.picklist(['auto', 'required'])

/** A tool choice that names a tool, or all tools that the model may call. */
export interface ChoiceOfTools {
  readonly tool?: string
  readonly names?: readonly string[]
  readonly mode?: 'auto' | 'required'
}

interface ChosenTools {
  readonly clientTools: readonly ClientTool[]
  readonly toolChoice?: ToolChoice | undefined
  /** The tools of the edge that the choice allows, if it names any. */
  readonly tools?: ToolSelection
}

/**
 * Applies a tool choice. Client tools that it does not allow count as not sent; other allowed names are tools of the
 * edge.
 */
export function chooseTools(
  choice: ToolChoice | ChoiceOfTools | null | undefined,
  clientTools: readonly ClientTool[],
): ChosenTools {
  if (isText(choice) || !choice) return { clientTools, toolChoice: choice ?? undefined }
  if (!('names' in choice)) return { clientTools, toolChoice: { tool: choice.tool ?? '' } }
  const { names = [], mode } = choice
  const ownNames = clientTools.map(({ name }) => name)
  return {
    clientTools: clientTools.filter(({ name }) => names.includes(name)),
    toolChoice: mode,
    tools: names.filter((name) => !ownNames.includes(name)),
  }
}

/** Returns the selection of a request whose list of tools is empty, or that forbids calls: none of the edge's either. */
export function withoutTools(
  tools: readonly unknown[] | null | undefined,
  choice: ToolChoice | undefined,
): Pick<ChosenTools, 'tools'> {
  return tools?.length === 0 || choice === 'none' ? { tools: [] } : {}
}

/** Which text of the run is shown; a member of `edgecall`. */
export const whichRounds = v.exactOptional(v.picklist(['final', 'all']))

/** A fault of a body, in the form of OpenAI's error object. */
export interface OpenAiFault {
  readonly message: string
  /** The path of what is wrong; null for the whole body. */
  readonly param: string | null
  readonly code: string
}

/** Converts a fault to OpenAI's form. `unsupported`: members that are refused. `codeAt`: the code for other paths. */
export function openAiFault(
  { path, message, missing }: BodyFault,
  unsupported: object,
  codeAt: (path: string) => string = () => 'invalid_value',
): OpenAiFault {
  const [member = ''] = path.split(/\W/, 1)
  const code = missing ? 'missing_required_parameter' : member in unsupported ? 'unsupported_parameter' : codeAt(path)
  return { message, param: path || null, code }
}

const textPart = v.object({ type: v.literal('text'), text: v.string() })

const refusalPart = v.pipe(
  v.object({ type: v.literal('refusal'), refusal: v.string() }),
  v.transform(({ refusal: text }) => ({ type: 'text' as const, text })),
)

const imagePart = v.pipe(
  v.object({
    type: v.literal('image_url'),
    image_url: v.object({ url: fileUrl('image/*') }),
  }),
  v.transform(({ image_url: { url } }) => ({ type: 'image' as const, ...url })),
)

/** A file that OpenAI’s server has. */
const fileId = v.nullish(
  v.custom<undefined>(() => false, 'names a file that this edge has not: send its content in `file_data`.'),
)

const filePart = v.pipe(
  v.object({
    type: v.literal('file'),
    file: v.object({ file_id: fileId, file_data: dataUrl() }),
  }),
  v.transform(({ type, file: { file_data: data } }) => ({ type, ...data })),
)

const functionCall = v.pipe(
  v.object({
    id: someText,
    type: v.nullish(v.literal('function')),
    function: v.object({ name: toolReference, arguments: v.string() }),
  }),
  v.transform(fromChatCall),
)

const toolCall = either((call) => isObject(call) && call['type'] === 'custom', customCall, functionCall)

const texts = textOr(textPart)

const anyMessage = v.variant('role', [
  v.pipe(
    v.object({ role: v.picklist(['system', 'developer']), content: texts }),
    v.transform(({ content }) => ({ role: 'system' as const, content: contentText(content) })),
  ),
  v.object({ role: v.literal('user'), content: textOr(v.variant('type', [textPart, imagePart, filePart])) }),
  v.pipe(
    v.object({
      role: v.literal('assistant'),
      content: v.nullish(textOr(v.variant('type', [textPart, refusalPart]))),
      refusal: v.nullish(v.string()),
      reasoning_content: v.nullish(v.string()),
      audio: absent,
      function_call: absent,
      tool_calls: v.nullish(v.array(toolCall)),
    }),
    v.transform(({ role, content, refusal, reasoning_content: reasoning, tool_calls: calls }) => ({
      role,
      content: contentText(content ?? refusal ?? ''),
      ...(reasoning && { reasoning }),
      ...(calls?.length && { calls }),
    })),
  ),
  v.pipe(
    v.object({ role: v.literal('tool'), tool_call_id: v.string(), content: texts }),
    v.transform(({ role, tool_call_id: callId, content }) => {
      return { role, callId, tool: '', ok: true, content: partsOf(content) }
    }),
  ),
])

interface PlainMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** Whether a message has a role, a text and nothing else, and so needs no conversion. */
function isPlain(value: unknown): value is PlainMessage {
  if (!isObject(value) || typeof value['content'] !== 'string') return false
  const { role } = value
  return (role === 'user' || role === 'assistant' || role === 'system') && Object.keys(value).length === 2
}

/**
 * Accepts plain messages, the bulk of long histories, without the full check, which would take longer than parsing
 * them.
 */
const runUnlessPlain: (typeof anyMessage)['~run'] = (dataset, config) =>
  isPlain(dataset.value) ? { typed: true, value: dataset.value } : anyMessage['~run'](dataset, config)

/** Converts a message of the format to ours. `checkHistory` later adds the tool of a result, which is unknown here. */
const messageSchema = { ...anyMessage, '~run': runUnlessPlain }

/** The body of `POST /v1/chat/completions`, converted to our types. */
export interface ChatRequest {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly clientTools: readonly ClientTool[]
  /** The names of those of them that are custom tools. */
  readonly customTools: ReadonlySet<string>
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields that are passed to the model unchanged. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
  /** The members of the body that the edge ignores. */
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

/** The member `edgecall` of the body, our extension of the format. */
export interface EdgecallOptions extends RunOptions {
  readonly conversation?: string
  readonly rounds?: Rounds
}

type DecodedChat =
  | { readonly ok: true; readonly request: ChatRequest }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Fields that are passed to the model. */
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

const tool = v.variant('type', [
  v.object({ type: v.literal('function'), function: v.object(functionMembers) }),
  customTool,
])

const nameOfTool = v.object({ name: toolReference })

const choiceOfTool = v.variant('type', [
  v.pipe(
    v.object({ type: v.literal('function'), function: nameOfTool }),
    v.transform((choice) => ({ tool: choice.function.name })),
  ),
  v.pipe(
    v.object({ type: v.literal('custom'), custom: nameOfTool }),
    v.transform((choice) => ({ tool: choice.custom.name })),
  ),
])

const choiceOfTools = v.variant('type', [
  choiceOfTool,
  v.pipe(
    v.object({
      type: v.literal('allowed_tools'),
      allowed_tools: v.object({ mode: allowedMode, tools: v.array(choiceOfTool) }),
    }),
    v.transform(({ allowed_tools: { mode, tools } }) => ({ mode, names: tools.map(({ tool }) => tool) })),
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

/** The member `edgecall` of bodies that send their whole history. */
export const edgecallMember = v.strictObject({
  ...runOptionSchemas,
  conversation: v.exactOptional(idSchema),
  rounds: whichRounds,
})

export const chatBody = v.object({
  ...SAMPLING,
  ...UNSUPPORTED,
  model: optionalText,
  messages: v.array(messageSchema),
  stream: optionalFlag,
  stream_options: v.nullish(v.object({ include_usage: optionalFlag })),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(either(isObject, choiceOfTools, choiceWord)),
  response_format: v.nullish(responseFormat),
  edgecall: v.nullish(edgecallMember, {}),
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
  const declared = (tools ?? []).map((each) =>
    each.type === 'custom' ? toCustomFunction(each) : toClientTool(each.function),
  )
  const fault = duplicateName(declared, (index) => `tools[${index}].${tools?.[index]?.type}.name`)
  if (fault) return fault
  const { clientTools, toolChoice, ...allowedTools } = chooseTools(tool_choice, declared)
  const sampling = Object.entries(rest).filter(([name, value]) => name in SAMPLING && value !== null)
  return {
    ok: true,
    request: {
      ...(model && { model }),
      messages: history.request,
      stream: rest.stream ?? false,
      includeUsage: rest.stream_options?.include_usage ?? false,
      clientTools,
      customTools: new Set((tools ?? []).flatMap((each) => (each.type === 'custom' ? each.custom.name : []))),
      toolChoice,
      responseFormat: response_format ?? undefined,
      sampling: Object.fromEntries(sampling),
      edgecall: { ...withoutTools(tools, toolChoice), ...edgecall, ...allowedTools },
      ignored: [...ignoredMembers(body, CHAT_MEMBERS), ...ignoredInChat(body)],
      hints: hintsIn(body, CHAT_MEMBERS, 'openai'),
    },
  }
}

/** Returns the code of a fault: as with OpenAI, some places have a code of their own. */
function codeAt(path: string): string {
  if (/\.(?:url|file_data|file_id|audio|function_call)$/.test(path)) return 'unsupported_value'
  return path.endsWith('.parameters') ? 'invalid_function_parameters' : 'invalid_value'
}
