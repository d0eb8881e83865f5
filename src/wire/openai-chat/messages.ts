import * as v from 'valibot'
import { TOOL_NAME } from '../../contract/id.ts'
import { type AssistantMessage, type Content, type Message, textOf } from '../../contract/message.ts'

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/
const NO_FETCH = 'is not supported: send a base64 data: URL, for the edge fetches no addresses.'

/** A data URL as the type and base64 data of a part. */
function dataUrl(mediaType: RegExp) {
  return v.pipe(
    v.string(),
    v.check((url) => mediaType.test(DATA_URL.exec(url)?.[1] ?? ''), NO_FETCH),
    v.transform((url) => {
      const [head = '', mediaType = ''] = DATA_URL.exec(url) ?? []
      return { mediaType, data: url.slice(head.length) }
    }),
  )
}

const textPart = v.object({ type: v.literal('text'), text: v.string() })
const refusalPart = v.object({ type: v.literal('refusal'), refusal: v.string() })
const imagePart = v.object({ type: v.literal('image_url'), image_url: v.object({ url: dataUrl(/^image\//) }) })
const filePart = v.object({ type: v.literal('file'), file: v.object({ file_data: dataUrl(/./) }) })

/** A text, or a list of parts. The schemas are made once, not for every message. */
function textOr<Parts extends v.GenericSchema>(parts: Parts) {
  const text = v.string()
  return v.lazy((value) => (typeof value === 'string' ? text : parts))
}

const texts = textOr(v.array(textPart))
const userContent = textOr(v.array(v.variant('type', [textPart, imagePart, filePart])))
const assistantContent = textOr(v.array(v.variant('type', [textPart, refusalPart])))

const toolCall = v.object({
  id: v.pipe(v.string(), v.nonEmpty('must not be empty.')),
  type: v.nullish(v.literal('function')),
  function: v.object({
    name: v.pipe(v.string(), v.regex(TOOL_NAME, `must match ${TOOL_NAME.source}.`)),
    arguments: v.string(),
  }),
})

const assistantMessage = v.object({
  role: v.literal('assistant'),
  content: v.nullish(assistantContent),
  refusal: v.nullish(v.string()),
  reasoning_content: v.nullish(v.string()),
  tool_calls: v.nullish(v.array(toolCall)),
})

/** A message of the format, as ours. The tool of a result is not known here: `checkHistory` finds it. */
export const messageSchema = v.pipe(
  v.variant('role', [
    v.object({ role: v.picklist(['system', 'developer']), content: texts }),
    v.object({ role: v.literal('user'), content: userContent }),
    assistantMessage,
    v.object({ role: v.literal('tool'), tool_call_id: v.string(), content: texts }),
  ]),
  v.transform((message): Message => {
    switch (message.role) {
      case 'user':
        return {
          role: 'user',
          content: typeof message.content === 'string' ? message.content : message.content.map(toContent),
        }
      case 'assistant':
        return toAssistant(message)
      case 'tool': {
        const { tool_call_id: callId, content } = message
        const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
        return { role: 'tool', callId, tool: '', ok: true, content: parts }
      }
      default:
        return { role: 'system', content: textOf(message.content) }
    }
  }),
)

type UserPart = v.InferOutput<typeof textPart | typeof imagePart | typeof filePart>

function toContent(part: UserPart): Content {
  switch (part.type) {
    case 'text':
      return part
    case 'image_url':
      return { type: 'image', ...part.image_url.url }
    default:
      return { type: 'file', ...part.file.file_data }
  }
}

function toAssistant(message: v.InferOutput<typeof assistantMessage>): AssistantMessage {
  const { content, refusal, reasoning_content: reasoning, tool_calls: calls } = message
  const said = content ?? refusal ?? ''
  const text =
    typeof said === 'string' ? said : said.map((part) => (part.type === 'text' ? part.text : part.refusal)).join('\n')
  return {
    role: 'assistant',
    content: text,
    ...(reasoning && { reasoning }),
    ...(calls?.length && {
      calls: calls.map(({ id, function: { name, arguments: text } }) => ({ callId: id, tool: name, arguments: text })),
    }),
  }
}
