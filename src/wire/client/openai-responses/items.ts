import * as v from 'valibot'
import type { CallAnswer } from '../../../contract/conversation.ts'
import {
  type AssistantMessage,
  type Content,
  type Message,
  type Opaque,
  contentText,
  type ToolCall,
  type UserContent,
} from '../../../contract/message.ts'
import { formatMembers, optionalText } from '../openai-chat/request.ts'
import { foundLine } from '../../../contract/found-tools.ts'
import { bodyFault, type DecodeResult } from '../body.ts'
import { type CallAnswers, decisionOf, resultAnswer } from '../request.ts'
import { atHand, fileUrl, linksOfResult } from '../history.ts'
import { either, isText, partsOf, plainObject, someText, textOr, toolReference } from '../../schema.ts'
import { callOfItem, decodeEncryptedContent, type ItemPlace, parseItemId } from './output.ts'
import { responsesOpaque, withPhase } from '../../provider/openai-responses/request.ts'
import { readKindCall } from '../../provider/openai-responses/tool-kinds.ts'
import { SUMMARY_REQUEST } from '../summary.ts'
import { readCompaction } from './compaction.ts'
import { summaryPart } from './shapes.ts'
import { flatName, modelNames, responsesTool, type ResponsesTool, SEARCH } from './tools.ts'

/** The media type of a file of which no more is known. */
const ANY = 'application/octet-stream'

const textPart = v.pipe(
  v.object({ type: v.picklist(['input_text', 'output_text']), text: v.string() }),
  v.transform(({ text }) => ({ type: 'text' as const, text })),
)

const refusalPart = v.pipe(
  v.object({ type: v.literal('refusal'), refusal: v.string() }),
  v.transform(({ refusal: text }) => ({ type: 'text' as const, text })),
)

/** A file that OpenAI’s server has. */
const fileId = v.nullish(
  v.custom<undefined>(() => false, 'names a file that this edge has not: send its content or its URL.'),
)

const content = textOr(
  v.variant('type', [
    textPart,
    refusalPart,
    v.pipe(
      v.object({ type: v.literal('input_image'), file_id: fileId, image_url: fileUrl('image/*') }),
      v.transform(({ image_url: url }) => ({ type: 'image' as const, ...url })),
    ),
    v.pipe(
      v.object({
        type: v.literal('input_file'),
        file_id: fileId,
        file_data: v.nullish(fileUrl(ANY)),
        file_url: v.nullish(fileUrl(ANY)),
      }),
      v.check(({ file_data, file_url }) => Boolean(file_data ?? file_url), 'must have `file_data` or `file_url`.'),
      v.transform(({ file_data, file_url }) => ({
        type: 'file' as const,
        ...(file_data ?? file_url ?? { mediaType: ANY, data: '' }),
      })),
    ),
  ]),
)

function outputOf(call_id: string, output: string | readonly UserContent[], ok = true) {
  const parts = isText(output) ? [] : output
  const content = isText(output) ? output : parts.map(atHand)
  return { type: 'function_call_output' as const, call_id, output: content, ok, files: linksOfResult(call_id, parts) }
}

const ids = { id: v.nullish(v.string(), ''), call_id: someText }

const namespace = v.nullish(v.string())

/** Converts a call of a tool of another kind to that of the function that stands for it. */
function toFunctionCall({
  id,
  call_id,
  namespace,
  ...item
}: {
  readonly type: string
  readonly id: string | null
  readonly call_id: string
  readonly namespace?: string | null
}) {
  const { name = '', arguments: text = '' } = readKindCall(item, SEARCH) ?? {}
  return { type: 'function_call' as const, id: id ?? '', call_id, name: flatName(name, namespace), arguments: text }
}

/** The calls of the caller's tools, as those of functions. */
const callItems = [
  v.pipe(
    v.object({ type: v.literal('function_call'), ...ids, name: someText, namespace, arguments: v.string() }),
    v.transform(({ namespace, ...call }) => ({ ...call, name: flatName(call.name, namespace) })),
  ),
  v.pipe(
    v.object({ type: v.literal('custom_tool_call'), ...ids, name: someText, namespace, input: v.string() }),
    v.transform((item) => toFunctionCall(item)),
  ),
  v.pipe(
    v.object({ type: v.picklist(['local_shell_call', 'shell_call']), ...ids, action: plainObject }),
    v.transform((item) => toFunctionCall(item)),
  ),
  v.pipe(
    v.object({ type: v.literal('apply_patch_call'), ...ids, operation: plainObject }),
    v.transform((item) => toFunctionCall(item)),
  ),
  v.pipe(
    v.object({
      type: v.literal('tool_search_call'),
      id: ids.id,
      call_id: v.nullish(v.string()),
      arguments: v.unknown(),
    }),
    v.transform(({ call_id, ...item }) =>
      // A search by the server has no call: what it has found is among the tools.
      call_id ? toFunctionCall({ ...item, call_id }) : { type: 'mcp_list_tools' as const },
    ),
  ),
] as const

/** The results of these calls. */
const outputItems = [
  v.pipe(
    v.object({
      type: v.picklist(['function_call_output', 'custom_tool_call_output']),
      call_id: v.string(),
      output: content,
    }),
    v.transform(({ call_id, output }) => outputOf(call_id, output)),
  ),
  v.pipe(
    v.object({
      type: v.literal('local_shell_call_output'),
      id: v.nullish(v.string(), ''),
      call_id: v.nullish(v.string()),
      output: v.string(),
    }),
    v.transform(({ id, call_id, output }) => outputOf(call_id ?? id ?? '', output)),
  ),
  v.pipe(
    v.object({ type: v.literal('shell_call_output'), call_id: someText, output: v.array(plainObject) }),
    v.transform(({ call_id, output }) => outputOf(call_id, JSON.stringify(output))),
  ),
  v.pipe(
    v.object({
      type: v.literal('apply_patch_call_output'),
      call_id: someText,
      status: v.string(),
      output: v.nullish(v.string()),
    }),
    v.transform(({ call_id, status, output }) => outputOf(call_id, output || status, status !== 'failed')),
  ),
  v.pipe(
    v.object({
      type: v.literal('tool_search_output'),
      call_id: v.nullish(v.string()),
      tools: v.nullish(v.array(responsesTool), []),
    }),
    v.transform(({ call_id, tools }) => {
      if (!call_id) return { type: 'mcp_list_tools' as const, tools: tools ?? [] }
      const names = modelNames(tools ?? [])
      const text = names.length === 0 ? 'No tools were found.' : names.map(foundLine).join('\n')
      return { ...outputOf(call_id, text), tools: tools ?? [] }
    }),
  ),
] as const

/** What one agent of Codex tells another, whose request it is in. The edge encrypts no arguments, so it is plain text. */
const agentMessage = v.pipe(
  v.object({
    type: v.literal('agent_message'),
    content: v.array(
      v.variant('type', [
        textPart,
        v.pipe(
          v.object({ type: v.literal('encrypted_content'), encrypted_content: v.string() }),
          v.transform(({ encrypted_content: text }) => ({ type: 'text' as const, text })),
        ),
      ]),
    ),
  }),
  v.transform(({ content }) => ({ type: 'message' as const, role: 'user' as const, content, phase: null })),
)

/** Returns the tools that an item adds to those of the request. */
export function toolsInItem(item: Item): readonly ResponsesTool[] {
  return 'tools' in item ? item.tools : []
}

const format = v.variant('type', [
  v.object({ type: v.picklist(['text', 'json_object']) }),
  v.object({ type: v.literal('json_schema'), ...formatMembers }),
])

export const textSettings = v.nullish(v.object({ format: v.nullish(format), verbosity: optionalText }))

export const inputItem = v.pipe(
  plainObject,
  // The type of a message, and that of a reference, is optional.
  v.transform((item) => ({
    ...item,
    type: item['type'] ?? ('role' in item || !('id' in item) ? 'message' : 'item_reference'),
  })),
  v.variant('type', [
    v.object({
      type: v.literal('message'),
      role: v.picklist(['user', 'assistant', 'system', 'developer']),
      content,
      phase: v.nullish(v.string()),
    }),
    v.object({
      type: v.literal('reasoning'),
      summary: v.nullish(v.array(v.object({ text: v.string() })), []),
      encrypted_content: v.nullish(v.string(), ''),
    }),
    agentMessage,
    ...callItems,
    ...outputItems,
    v.object({ type: v.literal('additional_tools'), tools: v.array(responsesTool) }),
    v.object({
      type: v.literal('mcp_call'),
      id: someText,
      name: toolReference,
      arguments: v.string(),
      output: v.nullish(v.string()),
      error: v.exactOptional(v.unknown()),
    }),
    v.object({
      type: v.literal('mcp_approval_response'),
      approval_request_id: v.string(),
      approve: v.boolean(),
      reason: v.nullish(v.string()),
    }),
    v.object({ type: v.literal('item_reference'), id: v.string() }),
    v.object({
      type: v.literal('configuration_update'),
      reasoning: v.nullish(v.object({ effort: optionalText })),
      text: textSettings,
    }),
    v.object({
      type: v.picklist(['compaction', 'compaction_summary', 'context_compaction']),
      encrypted_content: v.nullish(v.string(), ''),
    }),
    v.object({ type: v.literal('compaction_trigger') }),
    // What the edge asked is in the journal of its run: only the id is read.
    v.object({ type: v.literal('mcp_approval_request'), id: v.nullish(v.string(), '') }),
    v.object({ type: v.literal('mcp_list_tools') }),
    // What a provider has done within an answer; what it wants back of that is in the reasoning.
    v.object({
      type: v.picklist([
        'web_search_call',
        'file_search_call',
        'code_interpreter_call',
        'image_generation_call',
        'computer_call',
        'computer_call_output',
        'program',
        'program_output',
      ]),
    }),
  ]),
)

/** The input of a request; a text is one message of the user. */
export const inputItemsSchema = either(isText, someText, v.array(inputItem))

type Item = v.InferOutput<typeof inputItem>

/** The contents of an input: messages, and answers to calls that are not among these messages. */
export interface InputContents {
  readonly messages: readonly Message[]
  readonly answers: CallAnswers
}

/** The items that the conversation does not have yet, and the last stored item that they refer to. */
export interface ReferringItems {
  readonly items: readonly Item[]
  /** How many of them, the first ones, are instructions that came before the reference. */
  readonly instructions: number
  readonly reference?: ItemPlace
}

/**
 * Cuts off the items up to the last reference: the conversation of the item that it names has them. System messages are
 * kept wherever they stand, since they belong to this request. An `mcp_approval_request` counts as a reference too,
 * unless a message follows it.
 */
export function cutAtReference(items: readonly Item[]): DecodeResult<ReferringItems> {
  let reference: ItemPlace | undefined
  let from = 0
  const lastMessage = items.findLastIndex(({ type }) => type === 'message')
  for (const [at, item] of items.entries()) {
    const isApprovalRequest = item.type === 'mcp_approval_request'
    if (item.type !== 'item_reference' && !isApprovalRequest) continue
    const place = parseItemId(item.id)
    if (isApprovalRequest && (at < lastMessage || !place?.conversation)) continue
    if (!place?.conversation || (reference && reference.conversation !== place.conversation)) {
      return bodyFault(`input[${at}].id`, 'must name a stored item, and all references must be to one conversation.')
    }
    reference = place
    from = at + 1
  }
  const isInstruction = (item: Item) => item.type === 'message' && (item.role === 'system' || item.role === 'developer')
  const instructions = items.slice(0, from).filter(isInstruction)
  const request = { items: [...instructions, ...items.slice(from)], instructions: instructions.length }
  return { ok: true, request: { ...request, ...(reference && { reference }) } }
}

/** An assistant message under construction, with the results of its calls. */
interface Turn {
  text: string
  reasoning: string
  opaque?: Opaque | undefined
  readonly calls: ToolCall[]
  readonly results: Message[]
  /** Those of the results that only a message of the user may link to. */
  readonly files: UserContent[]
  hasResults: boolean
}

/** Returns the data in a reasoning item: what an edge put there, or the item itself, which is OpenAI's. */
function encodeOpaque({ summary, encrypted_content }: Extract<Item, { type: 'reasoning' }>): {
  readonly opaque?: Opaque | undefined
  readonly isLate?: boolean
} {
  if (!encrypted_content) return {}
  const item = { type: 'reasoning', summary: summary.map(({ text }) => summaryPart(text)), encrypted_content }
  return decodeEncryptedContent(encrypted_content) ?? { opaque: responsesOpaque([{ reasoning: item }]) }
}

/** Whether an `mcp_call` of the edge tells of a call that a provider has made: it has no name of a call of the edge. */
function isAtProvider(id: string): boolean {
  return parseItemId(id)?.name.startsWith('call_') === false
}

/**
 * Converts items to messages. The last summary that an edge made stands for the answers before it, their calls and
 * results. A request for one becomes the last message.
 */
export function readItems(items: readonly Item[]): InputContents {
  const at = items.findLastIndex((item) => summaryOf(item) !== undefined)
  const { messages, answers } = readMessages(items.slice(at + 1))
  const summary = items[at] && summaryOf(items[at])
  const earlier = summary ? readMessages(items.slice(0, at)).messages : []
  const isLeft = ({ role }: Message) => role === 'user' || role === 'system'
  const request = items.at(-1)?.type === 'compaction_trigger' ? [SUMMARY_REQUEST] : []
  return { messages: [...earlier.filter(isLeft), ...(summary ? [summary] : []), ...messages, ...request], answers }
}

function summaryOf(item: Item): Message | undefined {
  return 'encrypted_content' in item && item.type !== 'reasoning'
    ? readCompaction(item.encrypted_content ?? '')
    : undefined
}

function filesMessage(content: readonly UserContent[]): readonly Message[] {
  return content.length === 0 ? [] : [{ role: 'user', content }]
}

function messagesOf({ text, reasoning, opaque, calls, results, files }: Turn): readonly Message[] {
  const message: AssistantMessage = {
    role: 'assistant',
    content: text,
    ...(reasoning && { reasoning }),
    ...(calls.length > 0 && { calls }),
    opaque,
  }
  return [...(text || calls.length > 0 ? [message, ...results] : []), ...filesMessage(files)]
}

/** Converts items to messages. A text and the calls after it, up to their results, become one assistant message. */
function readMessages(items: readonly Item[]): InputContents {
  const messages: Message[] = []
  const answers: Record<string, CallAnswer> = {}
  const calls = new Map<string, ToolCall>()
  let turn: Turn | undefined

  function close(): void {
    if (turn) messages.push(...messagesOf(turn))
    turn = undefined
  }

  function openTurn(isNew: boolean): Turn {
    if (isNew) close()
    return (turn ??= { text: '', reasoning: '', calls: [], results: [], files: [], hasResults: false })
  }

  function call(callId: string, tool: string, text: string): void {
    const toolCall = { callId, tool, arguments: text }
    calls.set(callId, toolCall)
    openTurn(turn?.hasResults === true).calls.push(toolCall)
  }

  function result(callId: string, content: readonly Content[], ok: boolean): void {
    const { tool = '' } = calls.get(callId) ?? {}
    turn?.results.push({ role: 'tool', callId, tool, ok, content })
  }

  function take(item: Item): void {
    switch (item.type) {
      case 'message': {
        const { role, content, phase } = item
        if (role === 'assistant') {
          const open = openTurn(turn !== undefined && (turn.text !== '' || turn.calls.length > 0))
          open.text = contentText(content)
          if (phase) open.opaque = withPhase(open.opaque, open.text.length, phase)
          return
        }
        close()
        if (role === 'user') messages.push({ role, content })
        else messages.push({ role: 'system', content: contentText(content) })
        return
      }
      case 'reasoning': {
        const { opaque, isLate = false } = encodeOpaque(item)
        const open = openTurn(!isLate)
        if (!isLate) open.reasoning = item.summary.map(({ text }) => text).join('\n\n')
        open.opaque = opaque
        return
      }
      case 'function_call':
        return call(item.call_id, item.name, item.arguments)
      case 'function_call_output':
        if (turn && calls.has(item.call_id)) {
          turn.hasResults = true
          turn.files.push(...item.files)
          return result(item.call_id, isText(item.output) ? partsOf(item.output) : item.output, item.ok)
        }
        answers[item.call_id] = resultAnswer(item.output, item.ok)
        messages.push(...filesMessage(item.files))
        return
      case 'mcp_call': {
        const callId = callOfItem(item.id)
        if (isAtProvider(item.id)) return
        call(callId, item.name, item.arguments)
        return result(callId, partsOf(item.output ?? JSON.stringify(item.error ?? '')), item.output != null)
      }
      case 'mcp_approval_response':
        answers[callOfItem(item.approval_request_id)] = decisionOf(item.approve, item.reason)
        return
      default:
    }
  }

  for (const item of items) take(item)
  close()
  return { messages, answers }
}
