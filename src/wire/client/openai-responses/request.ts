import * as v from 'valibot'
import { isObject } from '../../../contract/json.ts'
import type { Message } from '../../../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { bodyFault, type DecodeResult, parseBody } from '../body.ts'
import { answersOf, type CallAnswers, newPart, type RunOptions } from '../request.ts'
import { checkHistory } from '../history.ts'
import { type Hint, hintsIn, type HostedTool, ignoredMembers } from '../members.ts'
import { RESPONSES_MEMBERS } from './members.ts'
import { flatName, hostedName, isFunction, readTools, responsesTool, type ToolForm } from './tools.ts'
import type { Rounds } from '../../../contract/run-options.ts'
import {
  byName,
  choiceWord,
  optionalCount,
  either,
  idSchema,
  isText,
  runOptionSchemas,
  someText,
  toolReference,
} from '../../schema.ts'
import {
  absent,
  allowedMode,
  type ChoiceOfTools,
  chooseTools,
  number,
  openAiFault,
  type OpenAiFault,
  optionalFlag,
  optionalText,
  toFormat,
  whichRounds,
  withoutTools,
} from '../openai-chat/request.ts'
import { type ItemPlace, parseItemId } from './output.ts'
import { readCompaction } from './compaction.ts'
import { cutAtReference, inputItemsSchema, readItems, textSettings, toolsInItem } from './items.ts'
import { ignoredInResponses } from './nested-members.ts'

/** The body of `POST /v1/responses`, converted to our types. */
export interface ResponsesRequest {
  readonly model?: string | undefined
  readonly instructions?: string | undefined
  /** All messages that were sent. */
  readonly messages: readonly Message[]
  /** Those of them that a conversation has been told already, up to the last answer or reference. */
  readonly earlier: readonly Message[]
  /** The others but for results: of the user and, which later responses have too, of the system. */
  readonly input: readonly Message[]
  readonly answers: CallAnswers
  readonly previous?: string | undefined
  readonly conversation?: string | undefined
  /** The last stored item that the input refers to, if any: the input continues from there. */
  readonly reference?: ItemPlace | undefined
  /** The conversation of the calls that were handed to the caller and come back here with their results. */
  readonly callConversation?: string | undefined
  readonly store: boolean
  readonly stream: boolean
  /** Whether the response is returned at once, while its run continues. */
  readonly background: boolean
  /** Whether the last item asks for a summary in place of an answer. */
  readonly isCompaction: boolean
  /** Whether reasoning items have encrypted content. */
  readonly hasEncryptedContent: boolean
  readonly clientTools: readonly ClientTool[]
  readonly hostedTools: readonly HostedTool[]
  /** How the caller has declared those of its tools that are no plain functions, by the names that the model has. */
  readonly forms: ReadonlyMap<string, ToolForm>
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: ResponseFormat | undefined
  /** Fields that are passed to the model, under their names in Chat Completions. */
  readonly sampling: Readonly<Record<string, unknown>>
  readonly options: RunOptions
  readonly rounds?: Rounds | undefined
  /** Fields of the request that the response repeats. */
  readonly echo: Readonly<Record<string, unknown>>
  /** The members of the body that the edge ignores. */
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

/** Fields that change the answer in ways that the edge does not support. They are refused, not ignored. */
const UNSUPPORTED = {
  prompt: absent,
  top_logprobs: v.nullish(v.literal(0)),
  // Earlier messages are always shortened where the model's window has no room for them.
  truncation: v.nullish(v.literal('auto')),
}

const toolOfChoice = v.pipe(
  v.object({ type: v.picklist(['function', 'custom']), name: someText, namespace: optionalText }),
  v.transform(({ name, namespace }) => ({ type: 'function' as const, name: flatName(name, namespace) })),
)

/** A choice of a tool that the format names by its type. */
const typeOfChoice = v.pipe(
  v.object({
    type: v.picklist([
      'local_shell',
      'shell',
      'apply_patch',
      'web_search',
      'web_search_preview',
      'file_search',
      'code_interpreter',
      'image_generation',
    ]),
  }),
  v.transform(({ type }) => ({ type: 'function' as const, name: hostedName(type) ?? type })),
)

/**
 * A tool choice that names a tool, or the tools that the model may call: OpenAI's, or those of the edge as of a server.
 */
const choiceOfTools = v.variant('type', [
  toolOfChoice,
  typeOfChoice,
  v.object({
    type: v.literal('allowed_tools'),
    mode: allowedMode,
    tools: v.array(
      v.variant('type', [
        toolOfChoice,
        typeOfChoice,
        v.object({ type: v.literal('mcp'), server_label: optionalText, name: toolReference }),
      ]),
    ),
  }),
])

export const responsesBody = v.object({
  ...UNSUPPORTED,
  model: optionalText,
  input: v.nullish(inputItemsSchema, []),
  instructions: optionalText,
  tools: v.nullish(v.array(responsesTool)),
  tool_choice: v.nullish(either(isObject, choiceOfTools, choiceWord)),
  text: textSettings,
  reasoning: v.nullish(v.object({ effort: optionalText, summary: optionalText, context: optionalText })),
  previous_response_id: optionalText,
  conversation: v.nullish(either(isObject, v.object({ id: idSchema }), idSchema)),
  store: optionalFlag,
  stream: optionalFlag,
  background: optionalFlag,
  include: v.nullish(v.array(v.string()), []),
  metadata: v.nullish(byName(v.string(), v.string())),
  temperature: number,
  top_p: number,
  max_output_tokens: number,
  max_tool_calls: optionalCount,
  parallel_tool_calls: optionalFlag,
  service_tier: optionalText,
  edgecall: v.nullish(v.strictObject({ ...runOptionSchemas, rounds: whichRounds }), {}),
})

type Body = v.InferOutput<typeof responsesBody>

export type DecodedResponses =
  | { readonly ok: true; readonly request: ResponsesRequest }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Parses the body of a request for a response. */
export function decodeResponses(json: unknown): DecodedResponses {
  const result = decode(json)
  return result.ok ? result : { ok: false, error: openAiFault(result.error, UNSUPPORTED, codeAt) }
}

function codeAt(path: string): string {
  return path.endsWith('.file_id') ? 'unsupported_value' : 'invalid_value'
}

function decode(json: unknown): DecodeResult<ResponsesRequest> {
  const parsed = parseBody(responsesBody, json)
  if (!parsed.ok) return parsed
  const decoded = { request: withUpdates(parsed.request) }
  const { input: rawInput, tools, conversation, previous_response_id: previous, ...rest } = decoded.request
  if (conversation != null && previous != null) {
    return bodyFault('previous_response_id', 'and "conversation" exclude each other.')
  }
  if (rest.background && rest.store === false) {
    return bodyFault('background', 'needs `store`: the response is read by its id.')
  }
  const triggerAt = isText(rawInput) ? -1 : rawInput.findIndex(({ type }) => type === 'compaction_trigger')
  if (triggerAt >= 0 && triggerAt < rawInput.length - 1)
    return bodyFault(`input[${triggerAt}]`, 'must be the last item.')
  const cut = cutAtReference(isText(rawInput) ? [] : rawInput)
  if (!cut.ok) return cut
  const { items, reference } = cut.request
  const contents = isText(rawInput)
    ? { messages: [{ role: 'user', content: rawInput } as const], answers: {} }
    : readItems(items)
  // The edge has stored what precedes a reference, and calls that are not among the items: these need not be complete.
  const isPartial = reference !== undefined || Object.keys(contents.answers).length > 0
  const history = isPartial
    ? { ok: true as const, request: contents.messages }
    : checkHistory(contents.messages, 'input', 'call_id')
  if (!history.ok) return history
  const messages = history.request
  const earlier = messages.slice(
    0,
    Math.max(cut.request.instructions, 1 + messages.findLastIndex(({ role }) => role === 'assistant')),
  )
  const { others: input, results } = newPart(messages.slice(earlier.length))
  const callConversation = items.findLast((item) => item.type === 'function_call')?.id ?? ''
  const inputTools = isText(rawInput) ? [] : rawInput.flatMap((item) => toolsInItem(item))
  const all = readTools(tools ?? [], inputTools)
  if (!all.ok) return all
  const { model, instructions, tool_choice: choice, edgecall, max_tool_calls: calls = Infinity } = rest
  const { limits = {}, rounds, ...options } = edgecall ?? {}
  const answerFormat = rest.text?.format
  const { clientTools, toolChoice, ...allowedTools } = chooseTools(toChoice(choice), all.clientTools)
  return {
    ok: true,
    request: {
      model: model || undefined,
      instructions: instructions || undefined,
      messages,
      earlier,
      input,
      // Results of calls that the caller ran are answers, wherever they stand among the items. Those of the newest turn
      // come last: decisions stay among the items of clients that send all that was said.
      answers: { ...contents.answers, ...answersOf(results) },
      previous: previous || undefined,
      reference,
      callConversation: parseItemId(callConversation)?.conversation || undefined,
      conversation: isText(conversation) ? conversation : conversation?.id,
      store: rest.store ?? true,
      stream: rest.stream ?? false,
      background: rest.background ?? false,
      isCompaction: triggerAt >= 0,
      hasEncryptedContent: rest.include.includes('reasoning.encrypted_content'),
      clientTools,
      // A choice that lists what may be called has none of these in its list.
      hostedTools: allowedTools.tools ? [] : all.hostedTools,
      forms: all.forms,
      toolChoice,
      responseFormat: answerFormat ? toFormat(answerFormat) : undefined,
      sampling: samplingOf(decoded.request),
      options: {
        ...withoutTools(inputTools.length === 0 ? tools : undefined, toolChoice),
        ...options,
        ...allowedTools,
        limits: calls < (limits.calls ?? Infinity) ? { ...limits, calls } : limits,
      },
      rounds,
      echo: echoFields(decoded.request),
      ignored: [...ignoredIn(json), ...all.ignored, ...ignoredItems(rawInput)],
      hints: [...hintsIn(json, RESPONSES_MEMBERS, 'openai'), ...reasoningHints(decoded.request)],
    },
  }
}

/** Returns a body with the settings that the last items of its input have updated. */
function withUpdates(body: Body): Body {
  const updates = isText(body.input) ? [] : (body.input ?? []).filter((item) => item.type === 'configuration_update')
  return updates.reduce(
    (all, { reasoning, text }) => ({
      ...all,
      reasoning: { ...all.reasoning, ...reasoning },
      text: { ...all.text, ...text },
    }),
    body,
  )
}

function toChoice(choice: Body['tool_choice']): ToolChoice | ChoiceOfTools | undefined {
  if (isText(choice) || !choice) return choice ?? undefined
  if (choice.type === 'function') return { tool: choice.name }
  return { mode: choice.mode, names: choice.tools.map(({ name }) => name) }
}

/** Returns the fields that are passed to the model, under their names in Chat Completions. */
function samplingOf(body: Body): Record<string, unknown> {
  const fields = {
    temperature: body.temperature,
    top_p: body.top_p,
    max_completion_tokens: body.max_output_tokens,
    parallel_tool_calls: body.parallel_tool_calls,
    service_tier: body.service_tier,
    reasoning_effort: body.reasoning?.effort,
    verbosity: body.text?.verbosity,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}

function ignoredIn(json: unknown): readonly string[] {
  return [...ignoredMembers(json, RESPONSES_MEMBERS), ...ignoredInResponses(json)]
}

/** Returns the places of what only the vendor could read: summaries that no edge made. */
function ignoredItems(input: Body['input']): readonly string[] {
  return (isText(input) ? [] : (input ?? [])).flatMap((item, at) =>
    /^(?:context_)?compaction(?:_summary)?$/.test(item.type) &&
    'encrypted_content' in item &&
    !readCompaction(item.encrypted_content ?? '')
      ? [`input[${at}]`]
      : [],
  )
}

function reasoningHints({ reasoning }: Body): readonly Hint[] {
  return (['summary', 'context'] as const).flatMap((name): Hint[] => {
    const value = reasoning?.[name]
    return value == null ? [] : [{ name: `reasoning.${name}`, vendor: 'openai', value }]
  })
}

/** Fields that a response repeats, with their values if the caller left them out. */
const ECHO = {
  instructions: null,
  tool_choice: 'auto',
  metadata: {},
  temperature: null,
  top_p: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  previous_response_id: null,
  service_tier: 'auto',
  store: true,
  truncation: 'auto',
  background: false,
}

function echoFields(body: Partial<Body> & Pick<Body, 'tools'>): Readonly<Record<string, unknown>> {
  const { tools, text, reasoning } = body
  return {
    ...ECHO,
    ...Object.fromEntries(Object.entries(body).filter(([name, value]) => name in ECHO && value != null)),
    tools: (tools ?? []).map((tool) => (isFunction(tool) ? { ...tool, strict: tool.strict ?? null } : tool)),
    text: { ...text, format: text?.format ?? { type: 'text' } },
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
  }
}

/** The fields that a response repeats, for a request that left them all out. */
export const DEFAULT_ECHO = echoFields({ tools: [] })
