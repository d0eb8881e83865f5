import * as v from 'valibot'
import type { Message } from '../../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { edgeName } from '../../../contract/tool-names.ts'
import { integerFrom, formatSchema, toolReference } from '../../schema.ts'
import { type DecodeResult, duplicateName, parseBody } from '../body.ts'
import { checkHistory } from '../history.ts'
import { type Hint, hintsIn, type HostedTool, ignoredMembers } from '../members.ts'
import {
  clearingEdits,
  type ClearThinking,
  type ClearToolUses,
  compactEdit,
  compaction,
  contextManagement,
  ignoredEdits,
} from './context-edits.ts'
import { MESSAGES_MEMBERS } from './members.ts'
import { ignoredParts } from './nested-members.ts'
import { clientTools, hostedTools, ignoredInTools, messagesTool, searchHints } from './tools.ts'
import {
  absent,
  edgecallMember,
  type EdgecallOptions,
  number,
  type OpenAiFault,
  openAiFault,
  optionalFlag,
  optionalText,
  withoutTools,
} from '../openai-chat/request.ts'
import { joinTexts, messageSchema, systemContent } from './messages.ts'
import { summaryMessage } from '../summary.ts'

/** The body of `POST /v1/messages`, converted to our types. */
export interface MessagesRequest {
  readonly model?: string
  /** The system prompt comes first, as a message of the system. */
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly clientTools: readonly ClientTool[]
  /** The names that the caller has given its tools, by those that the model has. */
  readonly toolNames: ReadonlyMap<string, string>
  readonly hostedTools: readonly HostedTool[]
  readonly toolChoice?: ToolChoice | undefined
  /** The edits that clear results and thinking; undefined if the request asks for no edits. */
  readonly edits?: readonly (ClearToolUses | ClearThinking)[] | undefined
  readonly compaction?: RequestedCompaction | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields that are passed to the model, under their names in Chat Completions where it has them. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
  /** The members of the body that the edge ignores. */
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

/** What a request says about a summary of its messages. */
interface RequestedCompaction {
  /** For how many tokens of input a summary is made; 0 for any. */
  readonly trigger: number
  /** What the model is asked. Default: `SUMMARY_REQUEST`. */
  readonly instructions?: string | undefined
  /** Whether the summary is the whole answer. */
  readonly isAnswer: boolean
}

const toolChoice = v.variant('type', [
  v.object({ type: v.picklist(['auto', 'any']), disable_parallel_tool_use: optionalFlag }),
  v.object({ type: v.literal('tool'), name: toolReference, disable_parallel_tool_use: optionalFlag }),
  v.object({ type: v.literal('none') }),
])

const CHOICES = { auto: 'auto', any: 'required', none: 'none' } as const

const thinking = v.variant('type', [
  v.object({ type: v.literal('enabled'), budget_tokens: integerFrom(1), display: optionalText }),
  v.object({ type: v.picklist(['adaptive', 'between_tools', 'disabled']), display: optionalText }),
])

/** Fields that would change the answer in ways that the edge does not support. They are refused, not ignored. */
const UNSUPPORTED = {
  container: absent,
  inference_geo: absent,
  mcp_servers: absent,
  output_format: absent,
}

/** The body of `POST /v1/messages/count_tokens`. */
export const countBody = v.object({
  ...UNSUPPORTED,
  thread: absent,
  model: optionalText,
  messages: v.array(messageSchema),
  system: v.nullish(systemContent, ''),
  tools: v.nullish(v.array(messagesTool)),
  tool_choice: v.nullish(toolChoice),
  thinking: v.nullish(thinking),
  context_management: v.nullish(contextManagement),
  compaction: v.nullish(compaction),
  output_config: v.nullish(
    v.object({
      effort: optionalText,
      format: v.nullish(v.object({ type: v.literal('json_schema'), schema: formatSchema })),
    }),
  ),
  edgecall: v.nullish(edgecallMember, {}),
})

export const messagesBody = v.object({
  ...countBody.entries,
  max_tokens: integerFrom(1),
  stream: optionalFlag,
  stop_sequences: v.nullish(v.array(v.string())),
  temperature: number,
  top_p: number,
  top_k: number,
})

type CountBody = v.InferOutput<typeof countBody>
type MessagesBody = v.InferOutput<typeof messagesBody>
type Decoded =
  | { readonly ok: true; readonly request: MessagesRequest }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Parses the body of a request for a message. */
export function decodeMessages(json: unknown): Decoded {
  const parsed = parseBody(messagesBody, json)
  return orFault(parsed.ok ? decode(json, parsed.request, parsed.request) : parsed)
}

/** Parses the body of a request that counts tokens. */
export function decodeCount(json: unknown): Decoded {
  const parsed = parseBody(countBody, json)
  return orFault(parsed.ok ? decode(json, parsed.request) : parsed)
}

function orFault(decoded: DecodeResult<MessagesRequest>): Decoded {
  return decoded.ok ? decoded : { ok: false, error: openAiFault(decoded.error, UNSUPPORTED, codeAt) }
}

/** The tool runner of Anthropic's SDK first asks for a thread, and by this code knows to send its whole history. */
function codeAt(path: string): string {
  const asksForThread = path === 'thread'
  const code = asksForThread ? 'thread_unsupported_request' : 'invalid_value'
  return /\.(?:file_id|citations\.enabled)$/.test(path) ? 'unsupported_value' : code
}

function decode(json: unknown, body: CountBody, rest: Partial<MessagesBody> = {}): DecodeResult<MessagesRequest> {
  const { model, tool_choice: choice, output_config: output, edgecall } = body
  const tools = body.tools ?? []
  const toolChoice = choice?.type === 'tool' ? { tool: choice.name } : choice ? CHOICES[choice.type] : undefined
  const history = toHistory(body)
  if (!history.ok) return history
  const fault = duplicateName(tools, (index) => `tools[${index}].name`)
  if (fault) return fault
  const ignored = [
    ...ignoredMembers(json, MESSAGES_MEMBERS),
    ...ignoredParts(json),
    ...ignoredEdits(body.context_management),
    ...ignoredInTools(tools),
  ]
  const format = output?.format
  return {
    ok: true,
    request: {
      ...(model && { model }),
      messages: history.request,
      stream: rest.stream ?? false,
      clientTools: clientTools(tools),
      toolNames: new Map(tools.map(({ name }) => [edgeName(name), name])),
      hostedTools: hostedTools(tools),
      toolChoice,
      edits: body.context_management ? clearingEdits(body.context_management) : undefined,
      compaction: requestedCompaction(body),
      responseFormat: format ? { type: 'json_schema', name: 'answer', schema: format.schema, strict: true } : undefined,
      sampling: toSampling(body, rest),
      edgecall: { ...withoutTools(body.tools, toolChoice), ...edgecall },
      ignored,
      hints: [...hintsIn(json, MESSAGES_MEMBERS, 'anthropic'), ...searchHints(tools, toolChoice)],
    },
  }
}

/** What Anthropic's API documents for a compaction that leaves it out. */
const COMPACTION_TOKENS = 150_000

function requestedCompaction({ compaction, context_management: edits }: CountBody): RequestedCompaction | undefined {
  if (compaction) return { trigger: 0, instructions: compaction.instructions?.trim() || undefined, isAnswer: true }
  const edit = compactEdit(edits)
  if (!edit) return undefined
  const { trigger, instructions, pause_after_compaction: isAnswer } = edit
  return {
    trigger: trigger?.value ?? COMPACTION_TOKENS,
    instructions: instructions?.trim() || undefined,
    isAnswer: isAnswer === true,
  }
}

/** Returns the fields that are passed to the model. `thinking` and `top_k` have no names in Chat Completions. */
function toSampling(
  { thinking, tool_choice: choice, output_config: output }: CountBody,
  rest: Partial<MessagesBody>,
): Record<string, unknown> {
  const isSingle = choice && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use
  const fields = {
    max_completion_tokens: rest.max_tokens,
    stop: rest.stop_sequences?.length ? rest.stop_sequences : undefined,
    temperature: rest.temperature,
    top_p: rest.top_p,
    top_k: rest.top_k,
    // Here, an effort does not ask for thinking.
    thinking: thinking ?? (output?.effort ? false : undefined),
    reasoning_effort: output?.effort,
    parallel_tool_calls: isSingle ? false : undefined,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}

/** Converts the system prompt and the messages. A fault names the caller's message, which may have become several. */
function toHistory({ system, messages }: CountBody): DecodeResult<readonly Message[]> {
  const prompt = joinTexts(system ?? '')
  const history: Message[] = prompt === '' ? [] : [{ role: 'system', content: prompt }]
  const origins = history.map(() => 0)
  for (const [index, message] of messages.entries()) {
    const summary = message.summary === undefined ? [] : [summaryMessage(message.summary)]
    if (summary.length > 0) history.length = origins.length = prompt === '' ? 0 : 1
    const own = [...summary, ...message.history]
    history.push(...own)
    origins.push(...own.map(() => index))
  }
  const checked =
    messages.length === 0 ? checkHistory([], 'messages', '') : checkHistory(history, 'messages', 'content')
  if (checked.ok) return checked
  const { path, message, missing } = checked.error
  const atOrigin = (text: string) => text.replace(/^messages\[(\d+)\]/, (_, at) => `messages[${origins[Number(at)]}]`)
  return { ok: false, error: { path: atOrigin(path), message: atOrigin(message), missing } }
}
