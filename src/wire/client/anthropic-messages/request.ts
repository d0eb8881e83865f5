import * as v from 'valibot'
import { isObject } from '../../../contract/json.ts'
import {
  type AssistantMessage,
  type Content,
  contentText,
  type Message,
  type Opaque,
  type TextContent,
  type ToolCall,
  type ToolMessage,
  type UserContent,
} from '../../../contract/message.ts'
import { foundLine } from '../../../contract/found-tools.ts'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { anthropicOpaque, type BlockPlace } from '../../provider/anthropic/codec.ts'
import { either, integerFrom, isText, formatSchema, someText, textOr, toolName, toolReference } from '../../schema.ts'
import { type DecodeResult, duplicateName, parseBody } from '../body.ts'
import { checkHistory, fileUrl } from '../history.ts'
import { type Hint, hintsIn, type HostedTool, ignoredMembers } from '../members.ts'
import { clearingEdits, type ClearToolUses, contextManagement, ignoredEdits } from './context-edits.ts'
import { MESSAGES_MEMBERS } from './members.ts'
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
import { decodeEncryptedContent } from '../openai-responses/output.ts'

/** The body of `POST /v1/messages`, converted to our types. */
export interface MessagesRequest {
  readonly model?: string
  /** The system prompt comes first, as a message of the system. */
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly clientTools: readonly ClientTool[]
  readonly hostedTools: readonly HostedTool[]
  readonly toolChoice?: ToolChoice | undefined
  /** The edits that clear results; undefined if the request asks for no edits. */
  readonly edits?: readonly ClearToolUses[] | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields that are passed to the model, under their names in Chat Completions where it has them. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly edgecall: EdgecallOptions
  /** The members of the body that the edge ignores. */
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

/** The parts that a block of content stands for. */
type Parts<Part = Content> = Readonly<Record<'parts', readonly Part[]>>

const text = v.pipe(
  v.object({ type: v.literal('text'), text: v.string() }),
  v.transform(({ text }): Parts => ({ parts: text === '' ? [] : [{ type: 'text', text }] })),
)

const base64 = v.object({ type: v.literal('base64'), media_type: v.string(), data: v.string() })

/** An image whose data is at hand, as it must be in results. */
const imageAtHand = v.pipe(
  v.object({ type: v.literal('image'), source: base64 }),
  v.transform(({ source: { media_type: mediaType, data } }): Parts => ({
    parts: [{ type: 'image', mediaType, data }],
  })),
)

const image = v.pipe(
  v.object({
    type: v.literal('image'),
    source: v.variant('type', [base64, v.object({ type: v.literal('url'), url: fileUrl('image/*') })]),
  }),
  v.transform(({ source }): Parts<UserContent> => {
    if (source.type === 'url') return { parts: [{ type: 'image', ...source.url }] }
    return { parts: [{ type: 'image', mediaType: source.media_type, data: source.data }] }
  }),
)

const fileAtHand = v.variant('type', [
  v.pipe(
    base64,
    v.transform(({ media_type: mediaType, data }): Parts => ({ parts: [{ type: 'file', mediaType, data }] })),
  ),
  // Text is sent as such, since not every provider takes files of text.
  v.pipe(
    v.object({ type: v.literal('text'), data: v.string() }),
    v.transform(({ data: text }): Parts => ({ parts: [{ type: 'text', text }] })),
  ),
  v.pipe(
    v.object({ type: v.literal('content'), content: textOr(v.variant('type', [text, imageAtHand])) }),
    v.transform(({ content }): Parts => ({ parts: partsIn(content) })),
  ),
])

const file = either(
  (source) => isObject(source) && source['type'] === 'url',
  v.pipe(
    v.object({ type: v.literal('url'), url: fileUrl('application/pdf') }),
    v.transform(({ url }): Parts<UserContent> => ({ parts: [{ type: 'file', ...url }] })),
  ),
  fileAtHand,
)

/** The edge asks no provider to cite documents of the request, so that a request for such citations is refused. */
const citations = v.nullish(v.object({ enabled: v.nullish(v.literal(false)) }))

function documentBlock<Part>(source: v.GenericSchema<unknown, Parts<Part>>) {
  return v.pipe(
    v.object({ type: v.literal('document'), title: optionalText, context: optionalText, citations, source }),
    v.transform(({ title, context, source }): Parts<Part | TextContent> => {
      const heading = [title, context].filter(Boolean).join('\n')
      return heading === '' ? source : { parts: [{ type: 'text', text: heading }, ...source.parts] }
    }),
  )
}

const searchResult = v.pipe(
  v.object({
    type: v.literal('search_result'),
    title: v.string(),
    source: v.string(),
    content: v.array(text),
    citations,
  }),
  v.transform(({ title, source, content }): Parts => {
    const text = [title, source, contentText(partsIn(content))].join('\n')
    return { parts: [{ type: 'text', text }] }
  }),
)

/** A tool that a search of the caller has found. */
const foundTool = v.pipe(
  v.object({ type: v.literal('tool_reference'), tool_name: toolName }),
  v.transform(({ tool_name: name }): Parts => ({ parts: [{ type: 'text', text: `${foundLine(name)}\n` }] })),
)

function resultBlock<Type extends string>(type: Type) {
  return v.pipe(
    v.object({
      type: v.literal(type),
      tool_use_id: someText,
      content: v.nullish(
        textOr(v.variant('type', [text, imageAtHand, documentBlock(fileAtHand), searchResult, foundTool])),
        '',
      ),
      is_error: optionalFlag,
    }),
    v.transform(({ tool_use_id: callId, content, is_error }): { readonly result: ToolMessage } => ({
      result: { role: 'tool', callId, tool: '', ok: !is_error, content: partsIn(content ?? '') },
    })),
  )
}

/** A call that was handed to the caller or, as `mcp_tool_use`, that the edge ran. */
const toolUse = v.pipe(
  v.object({
    type: v.picklist(['tool_use', 'mcp_tool_use']),
    id: someText,
    name: toolReference,
    input: v.nullish(v.unknown(), {}),
  }),
  v.transform(({ id: callId, name: tool, input }): { readonly call: ToolCall } => ({
    call: { callId, tool, arguments: JSON.stringify(input) },
  })),
)

/** What a provider has done within an answer. What it wants back of that is in the data of the answer. */
const serverBlock = v.pipe(
  v.object({
    type: v.picklist([
      'server_tool_use',
      'web_search_tool_result',
      'web_fetch_tool_result',
      'code_execution_tool_result',
      'bash_code_execution_tool_result',
      'text_editor_code_execution_tool_result',
      'tool_search_tool_result',
      'advisor_tool_result',
      'fallback',
    ]),
  }),
  v.transform((): Parts => ({ parts: [] })),
)

const userContent = textOr(
  v.variant('type', [text, image, documentBlock(file), searchResult, resultBlock('tool_result')]),
)

const answerContent = textOr(
  v.variant('type', [
    text,
    v.object({ type: v.literal('thinking'), thinking: v.string(), signature: v.nullish(v.string(), '') }),
    v.object({ type: v.literal('redacted_thinking'), data: v.string() }),
    toolUse,
    resultBlock('mcp_tool_result'),
    serverBlock,
  ]),
)

const systemContent = textOr(text)

/** A message, and the messages of ours that it stands for. */
const messageSchema = v.variant('role', [
  v.pipe(
    v.object({ role: v.literal('system'), content: systemContent }),
    v.transform(({ role, content }) => ({ history: [{ role, content: joinTexts(content) }] })),
  ),
  v.pipe(
    v.object({ role: v.literal('user'), content: userContent }),
    v.transform(({ content }) => ({ history: userMessages(content) })),
  ),
  v.pipe(
    v.object({ role: v.literal('assistant'), content: answerContent }),
    v.transform(({ content }) => ({ history: answerMessages(content) })),
  ),
])

/** Returns the parts of content; a text is one part, even if it is empty. */
function partsIn<Part>(content: string | readonly Parts<Part>[]): readonly (Part | TextContent)[] {
  return isText(content) ? [{ type: 'text', text: content }] : content.flatMap(({ parts }) => parts)
}

function joinTexts(content: v.InferOutput<typeof systemContent>): string {
  return contentText(partsIn(content))
}

/** Converts a message of the user: results come first, as each must follow its call. */
function userMessages(content: v.InferOutput<typeof userContent>): readonly Message[] {
  if (isText(content)) return [{ role: 'user', content }]
  const results = content.flatMap((block) => ('result' in block ? block.result : []))
  const parts = content.flatMap((block) => ('result' in block ? [] : block.parts))
  return parts.length === 0 && results.length > 0 ? results : [...results, { role: 'user', content: parts }]
}

/**
 * Converts a message of the assistant. Calls that the edge ran stand in it with their results, and what follows a result
 * is another answer of the model. Thinking goes back to the model as it came: the blocks of Anthropic's models with
 * their places among the texts and calls, the data of others in the signature or the block that the edge made of it.
 */
function answerMessages(content: v.InferOutput<typeof answerContent>): readonly Message[] {
  if (isText(content)) return [{ role: 'assistant', content }]
  const messages: Message[] = []
  let texts: string[] = []
  let reasoning: string[] = []
  let calls: ToolCall[] = []
  let results: ToolMessage[] = []
  let places: BlockPlace[] = []
  let opaque: Opaque | undefined

  function close(): void {
    const data = opaque ?? anthropicOpaque(places)
    const message: AssistantMessage = {
      role: 'assistant',
      content: texts.join(''),
      ...(reasoning.length > 0 && { reasoning: reasoning.join('\n\n') }),
      ...(calls.length > 0 && { calls }),
      opaque: data,
    }
    messages.push(message, ...results)
    ;[texts, reasoning, calls, results, places] = [[], [], [], [], []]
    opaque = undefined
  }

  function takeData(block: BlockPlace & object, data: string): void {
    const decoded = decodeEncryptedContent(data)
    if (decoded) opaque = decoded.opaque
    else if (data !== '') places.push(block)
  }

  for (const block of content) {
    if ('result' in block) {
      results.push(block.result)
      continue
    }
    if (results.length > 0) close()
    if ('call' in block) {
      calls.push(block.call)
      places.push(null)
    } else if ('thinking' in block) {
      if (block.thinking !== '') reasoning.push(block.thinking)
      takeData(block, block.signature)
    } else if ('data' in block) {
      takeData(block, block.data)
    } else {
      const part = contentText(block.parts)
      texts.push(part)
      places.push(part.length)
    }
  }
  close()
  return messages
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
  return code
}

function decode(json: unknown, body: CountBody, rest: Partial<MessagesBody> = {}): DecodeResult<MessagesRequest> {
  const { model, tool_choice: choice, output_config: output, edgecall } = body
  const tools = body.tools ?? []
  const toolChoice = choice?.type === 'tool' ? { tool: choice.name } : choice ? CHOICES[choice.type] : undefined
  const history = toHistory(body)
  if (!history.ok) return history
  const fault = duplicateName(tools, 'tools', 'name')
  if (fault) return fault
  const ignored = [
    ...ignoredMembers(json, MESSAGES_MEMBERS),
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
      hostedTools: hostedTools(tools),
      toolChoice,
      edits: body.context_management ? clearingEdits(body.context_management) : undefined,
      responseFormat: format ? { type: 'json_schema', name: 'answer', schema: format.schema, strict: true } : undefined,
      sampling: toSampling(body, rest),
      edgecall: { ...withoutTools(body.tools, toolChoice), ...edgecall },
      ignored,
      hints: [...hintsIn(json, MESSAGES_MEMBERS, 'anthropic'), ...searchHints(tools, toolChoice)],
    },
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
    thinking,
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
    history.push(...message.history)
    origins.push(...message.history.map(() => index))
  }
  const checked =
    messages.length === 0 ? checkHistory([], 'messages', '') : checkHistory(history, 'messages', 'content')
  if (checked.ok) return checked
  const { path, message, missing } = checked.error
  const atOrigin = (text: string) => text.replace(/^messages\[(\d+)\]/, (_, at) => `messages[${origins[Number(at)]}]`)
  return { ok: false, error: { path: atOrigin(path), message: atOrigin(message), missing } }
}
