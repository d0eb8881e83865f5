import * as v from 'valibot'
import { foundLine } from '../../../contract/found-tools.ts'
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
import { anthropicOpaque, type BlockPlace } from '../../provider/anthropic/codec.ts'
import { either, isText, someText, textOr, toolReference } from '../../schema.ts'
import { atHand, fileUrl, linksOfResult } from '../history.ts'
import { optionalFlag, optionalText } from '../openai-chat/request.ts'
import { decodeEncryptedContent } from '../openai-responses/output.ts'

/** The parts that a block of content stands for. */
type Parts<Part = Content> = Readonly<Record<'parts', readonly Part[]>>

const text = v.pipe(
  v.object({ type: v.literal('text'), text: v.string() }),
  v.transform(({ text }): Parts => ({ parts: text === '' ? [] : [{ type: 'text', text }] })),
)

/** A file that Anthropic’s server has. */
const fileId = v.custom<string>(() => false, 'names a file that this edge has not: send its content or its URL.')

const base64 = v.object({ type: v.literal('base64'), media_type: v.string(), data: v.string() })

/** An image whose data is at hand, as it must be in a document. */
const imageAtHand = v.pipe(
  v.object({ type: v.literal('image'), source: base64 }),
  v.transform(({ source: { media_type: mediaType, data } }): Parts => ({
    parts: [{ type: 'image', mediaType, data }],
  })),
)

const image = v.pipe(
  v.object({
    type: v.literal('image'),
    source: v.variant('type', [
      base64,
      v.object({ type: v.literal('url'), url: fileUrl('image/*') }),
      v.object({ type: v.literal('file'), file_id: fileId }),
    ]),
  }),
  v.transform(({ source }): Parts<UserContent> => {
    if (source.type === 'url') return { parts: [{ type: 'image', ...source.url }] }
    if (source.type === 'file') return { parts: [] }
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
    v.object({ type: v.literal('file'), file_id: fileId }),
    v.transform((): Parts => ({ parts: [] })),
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
  v.object({ type: v.literal('tool_reference'), tool_name: toolReference }),
  v.transform(({ tool_name: name }): Parts => ({ parts: [{ type: 'text', text: `${foundLine(name)}\n` }] })),
)

/** Blocks that are named as ignored. */
const ignoredBlock = v.pipe(
  v.object({ type: v.picklist(['browser_state', 'tool_addition', 'tool_removal']) }),
  v.transform((): Parts => ({ parts: [] })),
)

const containerUpload = v.pipe(
  v.object({ type: v.literal('container_upload'), file_id: fileId }),
  v.transform((): Parts => ({ parts: [] })),
)

const resultContent = v.nullish(
  textOr(v.variant('type', [text, image, documentBlock(file), searchResult, foundTool, ignoredBlock])),
  '',
)

function resultBlock<Type extends string>(type: Type) {
  return v.pipe(
    v.object({ type: v.literal(type), tool_use_id: someText, content: resultContent, is_error: optionalFlag }),
    v.transform(({ tool_use_id: callId, content, is_error }) => {
      const parts = partsIn<UserContent>(content ?? '')
      const result: ToolMessage = { role: 'tool', callId, tool: '', ok: !is_error, content: parts.map(atHand) }
      return { result, files: linksOfResult(callId, parts) }
    }),
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
      'mcp_tool_listing',
      'fallback',
    ]),
  }),
  v.transform((): Parts => ({ parts: [] })),
)

/** A summary of all messages before it. Without content, it is that of a compaction that failed. */
const compactionBlock = v.pipe(
  v.object({
    type: v.literal('compaction'),
    content: optionalText,
    encrypted_content: optionalText,
    signature: optionalText,
    tool_changes: v.nullish(v.array(v.unknown())),
  }),
  v.transform(({ content }) => ({ summary: content ?? '' })),
)

const userContent = textOr(
  v.variant('type', [
    text,
    image,
    documentBlock(file),
    searchResult,
    resultBlock('tool_result'),
    compactionBlock,
    containerUpload,
    ignoredBlock,
  ]),
)

const answerContent = textOr(
  v.variant('type', [
    text,
    v.object({ type: v.literal('thinking'), thinking: v.string(), signature: v.nullish(v.string(), '') }),
    v.object({ type: v.literal('redacted_thinking'), data: v.string() }),
    toolUse,
    resultBlock('mcp_tool_result'),
    compactionBlock,
    containerUpload,
    ignoredBlock,
    serverBlock,
  ]),
)

/** The system prompt, which may also change the tools in the middle of a conversation. */
export const systemContent = textOr(v.variant('type', [text, ignoredBlock]))

/** A message, and the messages of ours that it stands for. With a summary, they stand for all messages before them, too. */
export const messageSchema = v.variant('role', [
  v.pipe(
    v.object({ role: v.literal('system'), content: systemContent }),
    v.transform(({ role, content }) => onlyHistory([{ role, content: joinTexts(content) }])),
  ),
  v.pipe(
    v.object({ role: v.literal('user'), content: userContent }),
    v.transform(({ content }) => {
      if (isText(content)) return onlyHistory([{ role: 'user', content }])
      return withSummary(content, userMessages)
    }),
  ),
  v.pipe(
    v.object({ role: v.literal('assistant'), content: answerContent }),
    v.transform(({ content }) => {
      if (isText(content)) return onlyHistory([{ role: 'assistant', content }])
      return withSummary(content, answerMessages)
    }),
  ),
])

/** Returns the parts of content; a text is one part, even if it is empty. */
function partsIn<Part>(content: string | readonly Parts<Part>[]): readonly (Part | TextContent)[] {
  return isText(content) ? [{ type: 'text', text: content }] : content.flatMap(({ parts }) => parts)
}

export function joinTexts(content: v.InferOutput<typeof systemContent>): string {
  return contentText(partsIn(content))
}

interface SummaryBlock {
  readonly summary: string
}

function onlyHistory(history: readonly Message[]) {
  return { history, summary: undefined }
}

/** Converts the blocks after the last summary among blocks. */
function withSummary<Block extends object>(
  content: readonly Block[],
  convert: (blocks: readonly Exclude<Block, SummaryBlock>[]) => readonly Message[],
) {
  const isSummary = (block: Block | SummaryBlock): block is SummaryBlock => 'summary' in block
  const last = content.findLast((block) => isSummary(block) && block.summary !== '')
  const rest = content
    .slice(last ? content.indexOf(last) + 1 : 0)
    .filter((block): block is Exclude<Block, SummaryBlock> => !isSummary(block))
  const summary = last && isSummary(last) ? last.summary : undefined
  return { history: summary !== undefined && rest.length === 0 ? [] : convert(rest), summary }
}

type BlockOf<Content> = Exclude<Extract<Content, readonly unknown[]>[number], SummaryBlock>
type UserBlock = BlockOf<v.InferOutput<typeof userContent>>
type AnswerBlock = BlockOf<v.InferOutput<typeof answerContent>>

/** Converts a message of the user: results come first, as each must follow its call. */
function userMessages(content: readonly UserBlock[]): readonly Message[] {
  const results = content.flatMap((block) => ('result' in block ? block.result : []))
  const parts = content.flatMap((block) => ('result' in block ? block.files : block.parts))
  return parts.length === 0 && results.length > 0 ? results : [...results, { role: 'user', content: parts }]
}

/**
 * Converts a message of the assistant. Calls that the edge ran stand in it with their results, and what follows a result
 * is another answer of the model. Thinking goes back to the model as it came: the blocks of Anthropic's models with
 * their places among the texts and calls, the data of others in the signature or the block that the edge made of it.
 */
function answerMessages(content: readonly AnswerBlock[]): readonly Message[] {
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
