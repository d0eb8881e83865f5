import * as v from 'valibot'
import type { CallAnswer } from '../../../contract/conversation.ts'
import { isObject } from '../../../contract/json.ts'
import type { UserContent, UserMessage } from '../../../contract/message.ts'
import { bodyFault, type DecodeResult, prefixFault, parseBody } from '../body.ts'
import { type CallAnswers, decisionOf, decodeRunBody, type RunBody } from '../request.ts'
import { fileSource } from '../history.ts'
import { idSchema, plainObject } from '../../schema.ts'

/** The body that `useChat` posts, converted to our types. */
export interface UiChatRequest {
  readonly conversation: string
  readonly version?: 5 | 6 | 7
  /** Results and decisions by call id; some may have been sent before. */
  readonly answers: CallAnswers
  /** The run to start; only if no call is answered. */
  readonly parameters?: RunBody
  /** The message to answer again: the user's message id, or the run of the old answer; '' for the last answer. */
  readonly regenerate?: string
  /** The run of the last answer that stays, if the message after it is answered again or was edited; '' for none. */
  readonly follows?: string
}

/** The members of all types of parts; the type and state of a part decide which of them count. */
const part = v.object({
  type: v.string(),
  text: v.exactOptional(v.string()),
  mediaType: v.exactOptional(v.string()),
  url: v.exactOptional(v.string()),
  filename: v.nullish(v.string()),
  toolCallId: v.exactOptional(v.string()),
  state: v.exactOptional(v.string()),
  providerExecuted: v.nullish(v.boolean()),
  output: v.exactOptional(v.unknown()),
  errorText: v.nullish(v.string()),
  data: v.exactOptional(v.unknown()),
  approval: v.nullish(v.object({ approved: v.nullish(v.boolean()), reason: v.nullish(v.string()) })),
})

type Part = v.InferOutput<typeof part>

export const useChatBody = v.object({
  id: idSchema,
  messages: v.pipe(
    v.array(
      v.object({
        id: v.nullish(v.string(), ''),
        role: v.picklist(['system', 'user', 'assistant']),
        metadata: v.exactOptional(v.unknown()),
        parts: v.array(part),
      }),
    ),
    v.nonEmpty('must not be empty.'),
  ),
  trigger: v.nullish(v.picklist(['submit-message', 'regenerate-message'])),
  messageId: v.nullish(v.string()),
  edgecall: v.nullish(plainObject, {}),
  version: v.nullish(v.picklist([5, 6, 7])),
})

/**
 * Parses the body that `useChat` posts for its own edge conversation, `id`. Only the messages after the last answer are
 * new; if that answer is the last message, it has answers to its calls. `edgecall` has the members of a native run.
 */
export function decodeUiChat(json: unknown): DecodeResult<UiChatRequest> {
  const decoded = parseBody(useChatBody, json)
  if (!decoded.ok) return decoded
  const { id: conversation, messages, trigger, messageId, edgecall, version } = decoded.request
  const place = { conversation, ...(version && { version }) }
  const lastAnswer = messages.findLastIndex((message) => message.role === 'assistant')
  const follows = messages[lastAnswer]?.id ?? ''
  if (trigger === 'regenerate-message') {
    return { ok: true, request: { ...place, answers: {}, regenerate: messageId ?? '', follows } }
  }
  const end = messages.length - 1
  if (lastAnswer === end) {
    const answers = answersOf(messages[end]?.parts ?? [])
    if (Object.keys(answers).length === 0)
      return bodyFault(`messages[${end}]`, 'must contain a new user message or the result of a call.')
    return { ok: true, request: { ...place, answers } }
  }
  const input: UserMessage[] = []
  for (let at = lastAnswer + 1; at <= end; at++) {
    const { role, id, metadata, parts = [] } = messages[at] ?? {}
    if (role !== 'user') continue
    const content = contentOf(parts, `messages[${at}].parts`)
    if (!content.ok) return content
    const names = Object.fromEntries(
      sentParts(parts).flatMap(({ filename }, index) => (filename ? [[index, filename]] : [])),
    )
    const display = {
      ...(id && { id }),
      ...(metadata !== undefined && { metadata }),
      ...(Object.keys(names).length > 0 && { names }),
    }
    input.push({ role, content: content.request, ...(Object.keys(display).length > 0 && { display }) })
  }
  const run = decodeRunBody({ ...edgecall, input: input.map(({ role, content }) => ({ role, content })) })
  // `messageId` names a message that was edited; the client has cut all that followed it.
  const edited = messageId != null && { follows }
  if (run.ok) return { ok: true, request: { ...place, answers: {}, parameters: { ...run.request, input }, ...edited } }
  return prefixFault('edgecall.', run)
}

/** Returns the answers to calls of the message's last step; some may have been sent before. */
function answersOf(parts: readonly Part[]): Record<string, CallAnswer> {
  const answers: Record<string, CallAnswer> = {}
  const step = parts.slice(parts.findLastIndex((each) => each.type === 'step-start') + 1)
  /** What the person filled in, in the parts `data-input`. */
  const inputOf = (call: string) => {
    const forms = step.flatMap(({ type, data }) => (type === 'data-input' && isObject(data) ? [data] : []))
    return forms.find((data) => data['toolCallId'] === call)?.['answers']
  }
  for (const { toolCallId, state, approval, output, errorText, providerExecuted } of step) {
    if (toolCallId === undefined) continue
    if (state === 'approval-responded') {
      answers[toolCallId] = decisionOf(approval?.approved === true, approval?.reason, inputOf(toolCallId))
    } else if (!providerExecuted && state === 'output-available') {
      answers[toolCallId] =
        typeof output === 'string'
          ? { result: output, ok: true }
          : { result: JSON.stringify(output ?? null), ok: true, structured: output ?? null }
    } else if (!providerExecuted && state === 'output-error') {
      answers[toolCallId] = { result: errorText ?? '', ok: false }
    }
  }
  return answers
}

/** Returns the texts and files of a message; its other parts are for the client alone. */
function sentParts(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ type, text }) => type === 'file' || (type === 'text' && text !== undefined))
}

function contentOf(parts: readonly Part[], path: string): DecodeResult<readonly UserContent[]> {
  const content: UserContent[] = []
  for (const each of sentParts(parts)) {
    const { type, text = '', mediaType = '', url = '' } = each
    if (type === 'text') content.push({ type, text })
    if (type !== 'file') continue
    const index = parts.indexOf(each)
    const source = fileSource(url, mediaType)
    if (!source) return bodyFault(`${path}[${index}].url`, 'must be an https: URL or a base64 data: URL.')
    content.push({ type: mediaType.startsWith('image/') ? 'image' : 'file', ...source, mediaType })
  }
  return content.length > 0 ? { ok: true, request: content } : bodyFault(path, 'has neither text nor files.')
}
