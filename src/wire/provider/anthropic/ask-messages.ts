import { isObject } from '../../../contract/json.ts'
import { type AssistantMessage, type Message, contentText, type UserContent } from '../../../contract/message.ts'
import { argumentsText, calledName } from '../call-arguments.ts'
import { encodeOnce } from '../../encode-once.ts'
import { joinItems } from '../json-text.ts'
import { opaqueDataOf } from '../opaque.ts'
import { ANTHROPIC } from './place.ts'

/** Encodes the blocks of a message as the inside of a JSON list; '' if it has none. */
export const encodeMessage = encodeOnce((message: Message): string => {
  switch (message.role) {
    case 'system':
      return ''
    case 'user': {
      const { content } = message
      return joinItems(typeof content === 'string' ? toText(content) : content.flatMap(toBlock))
    }
    case 'assistant':
      return answerBlocks(message)
    case 'tool': {
      const { callId, ok, content, found = [] } = message
      // The content of an error may only be text.
      const resultContent = ok ? content.flatMap(toBlock) : toText(contentText(content))
      // A reference stands for the whole definition of the tool.
      const blocks =
        found.length > 0 ? found.map((name) => ({ type: 'tool_reference', tool_name: name })) : resultContent
      const result = { type: 'tool_result', tool_use_id: calledName(callId), is_error: !ok || undefined }
      return JSON.stringify({ ...result, content: blocks.length > 0 ? blocks : undefined })
    }
  }
})

/** The kinds of blocks that are sent back as they came. A caller may have written any others, such as another's file. */
const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** Encodes an answer: blocks in their original order if thinking must keep its place, else the text, then the calls. */
function answerBlocks({ content, calls = [], opaque }: AssistantMessage): string {
  // Thinking alone, of an answer that broke off, would be refused.
  if (content.trim() === '' && calls.length === 0) return ''
  const uses = calls.map(({ callId, tool, arguments: text }) => {
    const use = JSON.stringify({ type: 'tool_use', id: calledName(callId), name: calledName(tool) })
    return `${use.slice(0, -1)},"input":${argumentsText(text)}}`
  })
  let at = 0
  const blocks = opaqueDataOf(ANTHROPIC, opaque).map((place) => {
    if (isObject(place)) return THINKING.has(place['type']) ? JSON.stringify(place) : ''
    return typeof place === 'number' ? joinItems(toText(content.slice(at, (at += place)))) : uses.shift()
  })
  return [...blocks, joinItems(toText(content.slice(at))), ...uses].filter(Boolean).join()
}

function toText(text: string): readonly object[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** Converts a part. Images, PDFs and text files are sent as they are; other files are only named, in a text. */
function toBlock(part: UserContent): readonly object[] {
  if (part.type === 'text') return toText(part.text)
  if ('url' in part)
    return [{ type: part.type === 'image' ? 'image' : 'document', source: { type: 'url', url: part.url } }]
  const { mediaType: media_type, data } = part
  const source = { type: 'base64', media_type, data }
  if (/^image\/(jpeg|png|gif|webp)$/.test(media_type)) return [{ type: 'image', source }]
  if (media_type === 'application/pdf') return [{ type: 'document', source }]
  const text = /^text\/|json$/.test(media_type) ? decodeText(data) : ''
  if (text === '') return toText(contentText([part]))
  return [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }]
}

/** Decodes base64 to text; '' if it is not valid. */
function decodeText(data: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)))
  } catch {
    return ''
  }
}
