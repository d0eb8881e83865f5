import * as v from 'valibot'
import { TOOL_NAME } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../contract/model.ts'
import type { ClientTool, Limits, RunRequest, ToolSelection } from '../../contract/run.ts'
import { bodyFault, parseBody } from '../body.ts'
import { checkHistory, explainHistory, type HistoryFault } from '../history.ts'
import {
  contextSchema,
  DUPLICATE_NAME,
  duplicateName,
  executionSchema,
  idSchema,
  limitsSchema,
  parametersSchema,
  type Rounds,
  roundsSchema,
  toolsSchema,
} from '../request.ts'
import { messageSchema } from './messages.ts'

/** The body of `POST /v1/chat/completions`, in our words. */
export interface ChatRequest {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly clientTools: readonly ClientTool[]
  readonly toolChoice?: ToolChoice
  readonly responseFormat?: ResponseFormat
  /** Fields for the model, as they came. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
  readonly user?: string
}

/** The body's extension (API.md §1). */
interface EdgecallOptions {
  readonly conversation?: string
  readonly tools?: ToolSelection
  readonly context?: Readonly<Record<string, unknown>>
  readonly limits?: Partial<Limits>
  readonly rounds?: Rounds
  readonly execution?: RunRequest['execution']
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

/** Fields that are the model's business. Others that the format knows, or will, are ignored. */
const SAMPLING = {
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  stop: v.nullish(v.union([v.string(), v.array(v.string())])),
  seed: v.nullish(v.number()),
  presence_penalty: v.nullish(v.number()),
  frequency_penalty: v.nullish(v.number()),
  max_tokens: v.nullish(v.number()),
  max_completion_tokens: v.nullish(v.number()),
  logit_bias: v.nullish(v.record(v.string(), v.number())),
  reasoning_effort: v.nullish(v.string()),
  verbosity: v.nullish(v.string()),
  parallel_tool_calls: v.nullish(v.boolean()),
  service_tier: v.nullish(v.string()),
}

const absent = v.nullish(v.custom<undefined>(() => false, 'is not supported by this edge.'))

/** Fields that would change the answer in a way the edge cannot: better refused than ignored. */
const UNSUPPORTED = {
  n: v.nullish(v.literal(1)),
  logprobs: v.nullish(v.literal(false)),
  modalities: v.nullish(v.array(v.literal('text'))),
  audio: absent,
  functions: absent,
  function_call: absent,
}

const toolName = v.pipe(v.string(), v.regex(TOOL_NAME, `must match ${TOOL_NAME.source}.`))

const tool = v.object({
  type: v.literal('function'),
  function: v.object({
    name: toolName,
    description: v.nullish(v.string(), ''),
    parameters: v.nullish(parametersSchema, {}),
  }),
})

const toolChoice = v.lazy((value) =>
  isObject(value)
    ? v.object({ type: v.literal('function'), function: v.object({ name: toolName }) })
    : v.picklist(['none', 'auto', 'required']),
)

const responseFormat = v.variant('type', [
  v.object({ type: v.picklist(['text', 'json_object']) }),
  v.object({
    type: v.literal('json_schema'),
    json_schema: v.object({
      name: v.string(),
      schema: v.record(v.string(), v.unknown()),
      strict: v.nullish(v.boolean()),
    }),
  }),
])

const edgecall = v.strictObject({
  conversation: v.exactOptional(idSchema),
  tools: v.exactOptional(toolsSchema),
  context: v.exactOptional(contextSchema),
  limits: v.exactOptional(limitsSchema),
  rounds: v.exactOptional(roundsSchema),
  execution: v.exactOptional(executionSchema),
})

const chatBody = v.object({
  ...SAMPLING,
  ...UNSUPPORTED,
  model: v.nullish(v.string()),
  messages: v.array(messageSchema),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean()) })),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  response_format: v.nullish(responseFormat),
  user: v.nullish(v.string()),
  edgecall: v.nullish(edgecall, {}),
})

/** Reads the body of a chat completion. */
export function decodeRequest(body: unknown): DecodedChat {
  const parsed = parseBody(chatBody, body)
  if (!parsed.ok) return { ok: false, error: chatFault(parsed.error) }
  const { model, tools, tool_choice: choice, response_format: format, user, edgecall, ...rest } = parsed.request
  const history = checkHistory(rest.messages)
  if (!history.ok) return { ok: false, error: historyFault(history.fault) }
  const clientTools = (tools ?? []).map(toClientTool)
  const twice = duplicateName(clientTools)
  if (twice !== undefined) {
    return { ok: false, error: chatFault(bodyFault(`tools[${twice}].function.name`, DUPLICATE_NAME)) }
  }
  return {
    ok: true,
    request: {
      ...(model && { model }),
      messages: history.messages,
      stream: rest.stream ?? false,
      includeUsage: rest.stream_options?.include_usage ?? false,
      clientTools,
      ...(choice && { toolChoice: typeof choice === 'string' ? choice : { tool: choice.function.name } }),
      ...(format && { responseFormat: fromResponseFormat(format) }),
      sampling: samplingOf(rest),
      edgecall,
      ...(user && { user }),
    },
  }
}

function toClientTool({ function: { name, description, parameters } }: v.InferOutput<typeof tool>): ClientTool {
  return { name, description: description ?? '', inputSchema: parameters ?? {} }
}

function fromResponseFormat(format: v.InferOutput<typeof responseFormat>): ResponseFormat {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, schema, strict } = format.json_schema
  return { type: 'json_schema', name, schema, ...(typeof strict === 'boolean' && { strict }) }
}

function samplingOf(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = Object.keys(SAMPLING).filter((name) => body[name] !== undefined && body[name] !== null)
  return Object.fromEntries(names.map((name) => [name, body[name]]))
}

/** What is wrong at these places has a code of its own, as with OpenAI. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`^(?:${Object.keys(UNSUPPORTED).join('|')})\\b`), 'unsupported_parameter'],
  [/\.(?:url|file_data)$/, 'unsupported_value'],
  [/^tools\[\d+\]\.function\.parameters$/, 'invalid_function_parameters'],
]

function chatFault({ path, message, missing }: { path: string; message: string; missing: boolean }): ChatFault {
  const code = missing ? 'missing_required_parameter' : CODES.find(([place]) => place.test(path))?.[1]
  return { message, param: path === '' ? null : path, code: code ?? 'invalid_value' }
}

function historyFault(fault: HistoryFault): ChatFault {
  const { kind, index } = fault
  const member = kind === 'unknown_call' || kind === 'duplicate_result' ? '.tool_call_id' : ''
  const path = kind === 'no_messages' ? 'messages' : `messages[${index}]${member}`
  return chatFault(bodyFault(path, explainHistory(fault)))
}
