import * as v from 'valibot'
import {
  type BinaryContent,
  contentText,
  type LinkedContent,
  type Message,
  type UserContent,
} from '../../../contract/message.ts'
import { phaseOf } from '../../provider/openai-responses/request.ts'
import { urlOf } from '../../provider/turns.ts'
import { bodyFault, type DecodeResult, parseBody } from '../body.ts'
import { checkHistory } from '../history.ts'
import { openAiFault, type OpenAiFault } from '../openai-chat/request.ts'
import { objectsOf } from '../../fields.ts'
import { isOfSummary } from '../summary.ts'
import { inputItem, readItems } from './items.ts'
import { annotation, type JsonFields, summaryPart, textPart } from './shapes.ts'

/** An item of a list: of what a response was asked, or of a conversation. */
export type ListedItem = JsonFields & { readonly id: string; readonly type: string }

/**
 * Converts a stored message to items. A call of the edge's own is a `function_call` here too: the message does not say
 * who ran it, and its output follows. `name`: what the ids of the items are made of.
 */
export function itemsOf(name: string, message: Message): ListedItem[] {
  const items = bareItems(message)
  return items.map(({ prefix, ...item }, index) => ({ id: `${prefix}_${name}_${index}`, status: 'completed', ...item }))
}

/** Parses the id of a listed item: the name that it is made of. Undefined if it is none. */
export function nameOfItem(id: string): string | undefined {
  return /^(?:msg|rs|fc|fco)_(\d{1,16})_\d{1,6}$/.exec(id)?.[1]
}

type BareItem = JsonFields & { readonly prefix: 'msg' | 'rs' | 'fc' | 'fco'; readonly type: string }

function bareItems(message: Message): BareItem[] {
  if (message.role === 'tool') {
    const { callId, content } = message
    const isText = content.every(({ type }) => type === 'text')
    const output = isText ? contentText(content) : content.map(inputPart)
    return [{ prefix: 'fco', type: 'function_call_output', call_id: callId, output }]
  }
  if (message.role !== 'assistant') {
    const { role, content } = message
    const parts = typeof content === 'string' ? [inputPart({ type: 'text', text: content })] : content.map(inputPart)
    return [{ prefix: 'msg', type: 'message', role, content: parts }]
  }
  const { content, reasoning = '', calls = [], citations = [], opaque } = message
  const phase = phaseOf(opaque)
  const sources = citations.map(({ start = 0, end = content.length, ...source }) => {
    return annotation({ ...source, start, end }, 0, content.length)
  })
  return [
    ...(reasoning ? [{ prefix: 'rs', type: 'reasoning', summary: [summaryPart(reasoning)] } as const] : []),
    ...(content
      ? [
          {
            prefix: 'msg',
            type: 'message',
            role: 'assistant',
            content: [textPart(content, sources)],
            ...(phase && { phase }),
          } as const,
        ]
      : []),
    ...calls.map(({ callId, tool, arguments: text }) => {
      return { prefix: 'fc', type: 'function_call', call_id: callId, name: tool, arguments: text } as const
    }),
  ]
}

function inputPart(part: UserContent): JsonFields {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image') return { type: 'input_image', image_url: urlOf(part), file_id: null, detail: 'auto' }
  return { type: 'input_file', ...fileOf(part) }
}

function fileOf(part: BinaryContent | LinkedContent): JsonFields {
  return 'url' in part ? { file_url: part.url } : { file_data: urlOf(part) }
}

/** Makes the answer of `POST /v1/responses/compact` of a response with a summary of these messages. */
export function compactedResponse(
  { id, created_at, output, usage }: JsonFields,
  messages: readonly Message[],
): JsonFields {
  const others = messages.filter((message) => message.role === 'user' && !isOfSummary(message))
  const items = others.flatMap((message, index) => itemsOf(String(index), message))
  return { id, object: 'response.compaction', created_at, output: [...items, ...objectsOf(output)], usage }
}

/** Which items of a list to return: at most `limit`, after the item with the id `after` in this order. */
export interface ListQuery {
  readonly order: 'asc' | 'desc'
  readonly after?: string | undefined
  readonly limit: number
}

/**
 * Makes a page of a list in OpenAI's form. Reads the items, which come newest first, no further than needed, and holds
 * no more than a page of them. Undefined if the list has no item `after`.
 */
export async function pageOfItems(
  newestFirst: AsyncIterable<ListedItem> | Iterable<ListedItem>,
  { order, after, limit }: ListQuery,
): Promise<JsonFields | undefined> {
  const items: ListedItem[] = []
  let isFound = after === undefined
  for await (const item of newestFirst) {
    const isMark = item.id === after
    if (order === 'asc' ? !isMark : isFound) items.push(item)
    isFound ||= isMark
    if (order === 'asc' ? isMark : items.length > limit) break
    // In this order the oldest items come first, and are read last.
    if (order === 'asc' && items.length > limit + 1) items.shift()
  }
  if (!isFound) return undefined
  if (order === 'asc') items.reverse()
  const data = items.slice(0, limit)
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return { object: 'list', data, first_id, last_id, has_more: items.length > limit }
}

/** Conversations have no metadata of their own: what a caller would rely on is refused, and what is empty is not. */
const metadata = v.nullish(
  v.custom<object>((value) => JSON.stringify(value) === '{}', 'is not supported: a conversation has no metadata here.'),
)
const noMetadata = { metadata }

/** The body of `POST /v1/conversations`. */
export const newConversationBody = v.object({ ...noMetadata, items: v.nullish(v.array(inputItem), []) })
/** The body of `POST /v1/conversations/{id}`. */
export const conversationChangeBody = v.object(noMetadata)
/** The body of `POST /v1/conversations/{id}/items`. */
export const newItemsBody = v.object({ items: v.pipe(v.array(inputItem), v.minLength(1, 'must not be empty.')) })

type DecodedItems =
  | { readonly ok: true; readonly request: readonly Message[] }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Parses a body with the items that a conversation is to have, as messages that a caller has brought. */
export function decodeItems(
  schema: typeof newConversationBody | typeof newItemsBody | typeof conversationChangeBody,
  json: unknown,
): DecodedItems {
  const decoded = parseBody(schema, json)
  const result = decoded.ok ? toMessages('items' in decoded.request ? decoded.request.items : []) : decoded
  return result.ok ? result : { ok: false, error: openAiFault(result.error, noMetadata) }
}

/** The items that stand for others, or for what only a run can do. */
const NOT_STORED: ReadonlySet<string> = new Set([
  'item_reference',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_list_tools',
  'additional_tools',
  'compaction_trigger',
  'configuration_update',
])

function toMessages(items: readonly v.InferOutput<typeof inputItem>[]): DecodeResult<readonly Message[]> {
  const at = items.findIndex(({ type }) => NOT_STORED.has(type))
  if (at >= 0) return bodyFault(`items[${at}].type`, `an item of the type "${items[at]?.type}" cannot be stored.`)
  const { messages, answers } = readItems(items)
  const [loose] = Object.keys(answers)
  if (loose !== undefined) return bodyFault('items', `the result of the call "${loose}" needs the call before it.`)
  if (messages.length === 0) return { ok: true, request: [] }
  // What is stored may end with an answer.
  const history = checkHistory([...messages, { role: 'user', content: '' }], 'items', 'call_id')
  return history.ok ? { ok: true, request: history.request.slice(0, -1).map(asBrought) } : history
}

/** Marks a result as all that it may be: nobody here has seen which tool has answered. */
function asBrought(message: Message): Message {
  return message.role === 'tool' ? { ...message, marks: ['untrusted', 'private'], byCaller: true } : message
}
