import * as v from 'valibot'
import type { CallAnswer } from '../../../contract/conversation.ts'
import { isObject } from '../../../contract/json.ts'
import { contentText, type UserContent, type UserMessage } from '../../../contract/message.ts'
import { bodyFault, type DecodeResult, prefixFault, parseBody, duplicateName } from '../body.ts'
import { type CallAnswers, decisionOf, decodeRunBody, type RunBody } from '../request.ts'
import { fileSource } from '../history.ts'
import { idSchema, parametersSchema, textOr, toolName } from '../../schema.ts'
import type { AgUiOptions } from './events.ts'

/** A `RunAgentInput`, converted to our types. */
export interface AgUiRequest extends AgUiOptions {
  /** Results and decisions by call id; some results may be those that the edge sent to the caller. */
  readonly answers: CallAnswers
  /** The run to start, if there is a new message of the user. */
  readonly parameters?: RunBody
}

const part = v.object({
  type: v.string(),
  text: v.nullish(v.string()),
  source: v.nullish(v.object({ type: v.string(), value: v.string(), mimeType: v.nullish(v.string()) })),
  mimeType: v.nullish(v.string()),
  data: v.nullish(v.string()),
  url: v.nullish(v.string()),
})

export const input = v.object({
  threadId: idSchema,
  runId: v.string(),
  protocolVersion: v.nullish(v.string()),
  messages: v.array(
    v.object({
      id: v.nullish(v.string()),
      role: v.string(),
      metadata: v.exactOptional(v.unknown()),
      // The content of an activity is an object, which agents do not read.
      content: v.exactOptional(v.unknown()),
      toolCallId: v.nullish(v.string()),
      error: v.nullish(v.string()),
    }),
  ),
  tools: v.nullish(
    v.array(
      v.object({
        name: toolName,
        description: v.nullish(v.string(), ''),
        parameters: v.nullish(parametersSchema, {}),
      }),
    ),
    [],
  ),
  context: v.nullish(v.array(v.object({ description: v.string(), value: v.string() })), []),
  forwardedProps: v.exactOptional(v.unknown()),
  resume: v.nullish(
    v.array(v.object({ interruptId: v.string(), status: v.string(), payload: v.exactOptional(v.unknown()) })),
    [],
  ),
})

const content = textOr(part)

/**
 * Parses a `RunAgentInput` for the edge conversation `threadId`. Only the messages after the last answer are new.
 * `context` goes into the system message, `tools` are run by the caller, and `forwardedProps.edgecall` has the members
 * of a native run. `state` is ignored, since the edge never changes it.
 */
export function decodeAgUi(json: unknown): DecodeResult<AgUiRequest> {
  const decoded = parseBody(input, json)
  if (!decoded.ok) return decoded
  const { threadId, runId, protocolVersion, messages, tools, context, forwardedProps, resume } = decoded.request
  const place = { threadId, runId, ...(protocolVersion && { protocolVersion }) }
  const answers: Record<string, CallAnswer> = {}
  for (const { interruptId, status, payload } of resume) answers[interruptId] = decisionOfInterrupt(status, payload)
  const system = context.map(({ description, value }) => `${description}: ${value}`)
  const users: UserMessage[] = []
  const lastAnswer = messages.findLastIndex((message) => message.role === 'assistant')
  for (const [at, { id, role, toolCallId, error, metadata, ...message }] of messages.entries()) {
    const isInstruction = role === 'system' || role === 'developer'
    const isNew = at > lastAnswer && (role === 'user' || role === 'tool')
    if (!isInstruction && !isNew) continue
    const parts = parseBody(content, message.content)
    if (!parts.ok) return bodyFault(`messages[${at}].content`, 'must be a text or a list of parts.')
    const contents = typeof parts.request === 'string' ? [] : parts.request.map(contentOf)
    const unsendable = contents.indexOf(undefined)
    if (unsendable >= 0)
      return bodyFault(
        `messages[${at}].content[${unsendable}]`,
        'is neither text nor a file as data or under an https: URL.',
      )
    const newContent =
      typeof parts.request === 'string'
        ? parts.request
        : contents.flatMap((each) => (each === undefined || isEmpty(each) ? [] : each))
    if (isInstruction) system.push(contentText(newContent))
    else if (role === 'user' && newContent.length > 0) {
      const display = { ...(id && { id }), ...(metadata !== undefined && { metadata }) }
      users.push({ role, content: newContent, ...(Object.keys(display).length > 0 && { display }) })
    } else if (toolCallId) answers[toolCallId] = { result: contentText(newContent) || (error ?? ''), ok: !error }
  }
  if (users.length === 0) {
    if (Object.keys(answers).length === 0)
      return bodyFault('messages', 'must contain a new user message or the result of a call.')
    return { ok: true, request: { ...place, answers } }
  }
  const duplicate = duplicateName(tools, (index) => `tools[${index}].name`)
  if (duplicate) return duplicate
  const clientTools = tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters }))
  const edgecall = isObject(forwardedProps) ? forwardedProps.edgecall : undefined
  const run = decodeRunBody({
    ...(isObject(edgecall) ? edgecall : {}),
    input: users.map(({ role, content: parts }) => ({ role, content: parts })),
    clientTools,
    ...(system.length > 0 && { system: system.join('\n\n') }),
  })
  if (run.ok) return { ok: true, request: { ...place, answers, parameters: { ...run.request, input: users } } }
  return prefixFault('forwardedProps.edgecall.', run)
}

/** Converts the answer to an interrupt to a decision. An interrupt that was abandoned counts as a rejection. */
function decisionOfInterrupt(status: string, payload: unknown): CallAnswer {
  const { approved, reason, input } = isObject(payload) ? payload : { approved: payload }
  return decisionOf(status === 'resolved' && approved === true, reason, input)
}

function isEmpty(part: UserContent): boolean {
  return part.type === 'text' && part.text === ''
}

/** Converts a part: a text, or a file as data or under a URL. Undefined for a part that models cannot read. */
function contentOf({ type, text, source, ...old }: v.InferOutput<typeof part>): UserContent | undefined {
  if (type === 'text') return { type, text: text ?? '' }
  // Clients before version 1.0 send parts of the type `binary`.
  const { value = old.data ?? '', mimeType = old.mimeType } = source ?? {}
  const kind = type === 'image' || mimeType?.startsWith('image/') ? 'image' : 'file'
  const mediaType = mimeType || (kind === 'image' ? 'image/*' : 'application/octet-stream')
  if (source?.type === 'data' || (!source && old.data))
    return mimeType ? { type: kind, mediaType, data: value } : undefined
  const file = fileSource(source ? value : (old.url ?? ''), mediaType)
  return file && { type: kind, ...file }
}
