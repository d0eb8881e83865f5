import * as v from 'valibot'
import { isObject } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../contract/model.ts'
import type { ClientTool } from '../../contract/run.ts'
import { type Decoded, parseBody, sameName } from '../body.ts'
import { checkHistory } from '../history.ts'
import type { Rounds, RunOptions } from '../request.ts'
import { choiceWord, either, idSchema, parametersSchema, plainObject, runOptions, textOr, toolName } from '../schema.ts'
import { messageSchema } from './messages.ts'

/** The body of `POST /v1/chat/completions`, in our words. */
export interface ChatRequest {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly clientTools: readonly ClientTool[]
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields for the model, as they came. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
}

/** The body's extension (API.md §1). */
interface EdgecallOptions extends RunOptions {
  readonly conversation?: string
  readonly rounds?: Rounds
}

/** What is wrong with a body, as OpenAI's error object says it. */
interface ChatFault {
  readonly message: string
  /** The path of what is wrong; null for the whole body. */
  readonly param: string | null
  readonly code: string
}

export type DecodedChat =
  | { readonly ok: true; readonly request: ChatRequest }
  | { readonly ok: false; readonly error: ChatFault }

const text = v.nullish(v.string())
const number = v.nullish(v.number())
const flag = v.nullish(v.boolean())

/** Fields that are the model's business. Others that the format knows, or will, are ignored. */
const SAMPLING = {
  temperature: number,
  top_p: number,
  stop: v.nullish(textOr(v.string())),
  seed: number,
  presence_penalty: number,
  frequency_penalty: number,
  max_tokens: number,
  max_completion_tokens: number,
  logit_bias: v.nullish(plainObject),
  reasoning_effort: text,
  verbosity: text,
  parallel_tool_calls: flag,
  service_tier: text,
}

const absent = v.nullish(v.custom<undefined>(() => false, 'is not supported.'))

/** Fields that would change the answer in a way the edge cannot: better refused than ignored. */
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
    function: v.object({
      name: toolName,
      description: v.nullish(v.string(), ''),
      parameters: v.nullish(parametersSchema, {}),
      strict: flag,
    }),
  }),
  v.transform(({ function: { name, description, parameters, strict } }): ClientTool => {
    return { name, description, inputSchema: parameters, ...(strict && { strict }) }
  }),
)

const namedTool = v.pipe(
  v.object({ type: v.literal('function'), function: v.object({ name: toolName }) }),
  v.transform((choice) => ({ tool: choice.function.name })),
)

const responseFormat = v.variant('type', [
  v.object({ type: v.picklist(['text', 'json_object']) }),
  v.pipe(
    v.object({
      type: v.literal('json_schema'),
      json_schema: v.object({ name: v.string(), schema: plainObject, strict: flag }),
    }),
    v.transform(({ type, json_schema: { strict, ...format } }) => ({
      type,
      ...format,
      ...(typeof strict === 'boolean' && { strict }),
    })),
  ),
])

const edgecall = v.strictObject({
  ...runOptions,
  conversation: v.exactOptional(idSchema),
  rounds: v.exactOptional(v.picklist(['final', 'all'])),
})

export const chatBody = v.object({
  ...SAMPLING,
  ...UNSUPPORTED,
  model: text,
  messages: v.array(messageSchema),
  stream: flag,
  stream_options: v.nullish(v.object({ include_usage: flag })),
  tools: v.nullish(v.array(tool), []),
  tool_choice: v.nullish(either(isObject, namedTool, choiceWord)),
  response_format: v.nullish(responseFormat),
  edgecall: v.nullish(edgecall, {}),
})

/** Reads the body of a chat completion. */
export function decodeRequest(body: unknown): DecodedChat {
  const decoded = decode(body)
  if (decoded.ok) return decoded
  const { path, message, missing } = decoded.error
  return {
    ok: false,
    error: { message, param: path || null, code: missing ? 'missing_required_parameter' : codeOf(path) },
  }
}

function decode(body: unknown): Decoded<ChatRequest> {
  const parsed = parseBody(chatBody, body)
  if (!parsed.ok) return parsed
  const { model, tools, tool_choice, response_format, edgecall, ...rest } = parsed.request
  const history = checkHistory(rest.messages, 'messages', 'tool_call_id')
  if (!history.ok) return history
  const fault = sameName(tools, 'tools', 'function.name')
  if (fault) return fault
  const sampling = Object.entries(rest).filter(([name, value]) => name in SAMPLING && value !== null)
  return {
    ok: true,
    request: {
      ...(model && { model }),
      messages: history.request,
      stream: rest.stream ?? false,
      includeUsage: rest.stream_options?.include_usage ?? false,
      clientTools: tools,
      toolChoice: tool_choice ?? undefined,
      responseFormat: response_format ?? undefined,
      sampling: Object.fromEntries(sampling),
      edgecall,
    },
  }
}

/** What is wrong at some places has a code of its own, as with OpenAI. */
function codeOf(path: string): string {
  if (path.split(/\W/, 1).some((member) => member in UNSUPPORTED)) return 'unsupported_parameter'
  if (/\.(?:url|file_data)$/.test(path)) return 'unsupported_value'
  return path.endsWith('.parameters') ? 'invalid_function_parameters' : 'invalid_value'
}
