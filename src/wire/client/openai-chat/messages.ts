import * as v from 'valibot'
import { isObject } from '../../../contract/json.ts'
import { contentText } from '../../../contract/message.ts'
import { dataUrl, fileUrl } from '../data-url.ts'
import { partsOf, someText, textOr, toolName } from '../../schema.ts'
import { fromChatCall } from '../../provider/openai-chat/call.ts'

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

const filePart = v.pipe(
  v.object({
    type: v.literal('file'),
    file: v.object({ file_data: dataUrl() }),
  }),
  v.transform(({ type, file: { file_data: data } }) => ({ type, ...data })),
)

const toolCall = v.pipe(
  v.object({
    id: someText,
    type: v.nullish(v.literal('function')),
    function: v.object({ name: toolName, arguments: v.string() }),
  }),
  v.transform(fromChatCall),
)

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
export const messageSchema = { ...anyMessage, '~run': runUnlessPlain }
