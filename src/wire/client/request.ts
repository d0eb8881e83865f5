import * as v from 'valibot'
import type { Config } from '../../contract/config.ts'
import { isObject } from '../../contract/json.ts'
import { type Content, contentText, type Message, type ToolMessage, type UserMessage } from '../../contract/message.ts'
import { type ProviderOptions, type ResponseFormat, SAMPLING_NAMES, type ToolChoice } from '../../contract/model.ts'
import type { Limits } from '../../contract/limits.ts'
import { type Compat, compatRounds, type Rounds, type RunOptionValues } from '../../contract/run-options.ts'
import type { ClientTool, OnBusy, RunError, RunRequest, ToolSelection } from '../../contract/run.ts'
import { type DecodeResult, duplicateName, parseBody } from './body.ts'
import { checkHistory } from './history.ts'
import {
  byName,
  choiceWord,
  contentPart,
  either,
  formatSchema,
  isText,
  optionalCount,
  partsOf,
  plainObject,
  runOptionSchemas,
  setting,
  someText,
  textOr,
  toolReference,
  userPart,
} from '../schema.ts'
import { toolFields } from '../tool-fields.ts'
import type { CallAnswer } from '../../contract/conversation.ts'
import type { RunFinished } from '../../contract/event.ts'
import { isFilledIn } from '../../contract/input.ts'

/**
 * Whether the answer is shown only once it is known to fit its format. Not with a strict schema, which providers
 * enforce while they generate the text.
 */
export function isHeldBack(format: ResponseFormat | undefined): boolean {
  return format?.type === 'json_schema' && format.strict !== true
}

/** Returns which text is shown: as the request says, else as the edge does. */
export function chooseRounds(
  edge: Pick<Config, 'rounds' | 'compat'>,
  request: { readonly rounds?: Rounds | undefined; readonly compat?: Compat | undefined },
  isStreamed: boolean,
): Rounds {
  if (request.rounds) return request.rounds
  // A request that brings `compat` brings its defaults with it.
  const isNew = request.compat !== undefined && edge.compat === undefined
  const rounds = isNew ? compatRounds(request.compat) : edge.rounds
  return rounds === 'auto' ? (isStreamed ? 'all' : 'final') : rounds
}

/** The options of a run that all surfaces share. */
export interface RunOptions extends Partial<Pick<RunRequest, 'context' | 'compat'> & RunOptionValues> {
  readonly tools?: ToolSelection
  readonly limits?: Partial<Limits>
  /** Default: `interrupt` for the APIs of chat clients, unless the current run waits for an answer; else `queue`. */
  readonly onBusy?: OnBusy
}

/** The body of `POST …/runs`. */
export interface RunBody extends RunOptions {
  readonly input: readonly Message[]
  readonly system?: string
  readonly model?: string
  readonly clientTools?: readonly ClientTool[]
  readonly toolChoice?: ToolChoice
  readonly responseFormat?: ResponseFormat
  /** What is passed to the model, under the names of Chat Completions. */
  readonly sampling?: Readonly<Record<string, unknown>>
  readonly providerOptions?: ProviderOptions
  readonly rounds?: 'all'
}

const content = textOr(contentPart)

const userContent = textOr(userPart)

const call = v.strictObject({ callId: someText, tool: toolReference, arguments: v.string() })

export const message = v.variant('role', [
  v.strictObject({ role: v.literal('system'), content: v.string() }),
  v.strictObject({ role: v.literal('user'), content: userContent }),
  v.strictObject({
    role: v.literal('assistant'),
    content: v.string(),
    reasoning: v.exactOptional(v.string()),
    calls: v.exactOptional(v.array(call)),
    wasInterrupted: v.exactOptional(v.literal(true)),
  }),
  v.strictObject({
    role: v.literal('tool'),
    callId: v.string(),
    tool: v.exactOptional(v.string(), ''),
    ok: v.exactOptional(v.boolean(), true),
    content: v.pipe(content, v.transform(partsOf)),
  }),
])

/** A message of the field `input` of a run, as a caller writes it. */
export type InputMessage = v.InferInput<typeof message>

export const clientTool = v.strictObject(toolFields('caller'))

export const responseFormat = v.variant('type', [
  v.strictObject({ type: v.picklist(['text', 'json_object']) }),
  v.strictObject({
    type: v.literal('json_schema'),
    name: v.string(),
    schema: formatSchema,
    strict: v.exactOptional(v.boolean()),
  }),
])

const someNumber = v.exactOptional(setting)

/** How the model answers. A provider gets what it has a field for; the rest is left out. */
const sampling = v.strictObject({
  temperature: someNumber,
  topP: someNumber,
  topK: someNumber,
  seed: someNumber,
  presencePenalty: someNumber,
  frequencyPenalty: someNumber,
  maxOutputTokens: optionalCount,
  stop: v.exactOptional(v.array(someText)),
  reasoningEffort: v.exactOptional(someText),
  verbosity: v.exactOptional(someText),
  serviceTier: v.exactOptional(someText),
  parallelCalls: v.exactOptional(v.boolean()),
})

/** The field `sampling` of a run. */
export type Sampling = v.InferInput<typeof sampling>

export const runBody = v.strictObject({
  input: either(isText, someText, v.array(message)),
  system: v.exactOptional(v.string()),
  model: v.exactOptional(v.string()),
  clientTools: v.exactOptional(v.array(clientTool)),
  toolChoice: v.exactOptional(either(isObject, v.strictObject({ tool: toolReference }), choiceWord)),
  responseFormat: v.exactOptional(responseFormat),
  sampling: v.exactOptional(sampling),
  providerOptions: v.exactOptional(byName(someText, plainObject)),
  // Native events have the text of all rounds; the client chooses what to show.
  rounds: v.exactOptional(v.literal('all')),
  ...runOptionSchemas,
})

/** Parses the body of a native run. A text as `input` is one user message. Unknown members are errors, not ignored. */
export function decodeRunBody(body: unknown): DecodeResult<RunBody> {
  const parsed = parseBody(runBody, body)
  if (!parsed.ok) return parsed
  const { input, sampling: fields, ...rest } = parsed.request
  const messages: readonly Message[] = isText(input) ? [{ role: 'user', content: input }] : input
  const history = checkHistory(messages, 'input', 'callId')
  if (!history.ok) return history
  const { clientTools = [] } = rest
  const fault = duplicateName(clientTools, (index) => `clientTools[${index}].name`)
  if (fault) return fault
  const renamed = Object.entries(fields ?? {}).map(([name, value]) => [Reflect.get(SAMPLING_NAMES, name), value])
  return {
    ok: true,
    request: { ...rest, input: history.request, ...(fields && { sampling: Object.fromEntries(renamed) }) },
  }
}

export const callBody = v.strictObject({
  arguments: plainObject,
  context: runOptionSchemas.context,
  definition: v.exactOptional(plainObject),
  decision: v.exactOptional(v.literal('approve')),
  argumentsHash: v.exactOptional(someText),
})

/** Parses the body of `POST /tools/{name}/call`. */
export function decodeCallBody(body: unknown): DecodeResult<v.InferOutput<typeof callBody>> {
  return parseBody(callBody, body)
}

/** Results and decisions, by call id. */
export type CallAnswers = Readonly<Record<string, CallAnswer>>

/** Returns the messages after the last answer: those of the user, and results of calls that the caller ran. */
export function newPart(messages: readonly Message[]): {
  readonly input: readonly UserMessage[]
  readonly results: readonly ToolMessage[]
  /** All but the results: instructions, too. */
  readonly others: readonly Message[]
} {
  const after = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1)
  return {
    input: after.filter((message) => message.role === 'user'),
    results: after.filter((message) => message.role === 'tool'),
    others: after.filter((message) => message.role !== 'tool'),
  }
}

export function answersOf(results: readonly ToolMessage[]): CallAnswers {
  return Object.fromEntries(results.map(({ callId, content, ok }) => [callId, resultAnswer(content, ok)]))
}

/** Makes the answer to a call that the caller has run. */
export function resultAnswer(content: string | readonly Content[], ok: boolean): CallAnswer {
  const result = contentText(content)
  const isText = typeof content === 'string' || content.every(({ type }) => type === 'text')
  return isText ? { result, ok } : { result, ok, content }
}

/** Makes a person's decision on a call. `input`: what the person filled in, if the call asks for something. */
export function decisionOf(agrees: boolean, reason: unknown, input?: unknown): CallAnswer {
  return {
    decision: agrees ? 'approve' : 'reject',
    ...(typeof reason === 'string' && reason !== '' && { reason }),
    ...(agrees && isFilledIn(input) && { input }),
  }
}

/** The error of a run whose events break off before its end. */
export const BROKEN_OFF: RunError = { code: 'run_interrupted', message: 'The event stream of the run ended early.' }

/** The error of a stream that has shown parts of an answer that was then rejected. */
export function rejection(issues: string): RunError {
  return { code: 'invalid_answer', message: `The streamed answer does not fit its format: ${issues}` }
}

/** Returns why a run did not complete. Only cancelled runs have no error of their own. */
export function runErrorOf({ error }: RunFinished): RunError {
  return error ?? { code: 'run_cancelled', message: 'The run was cancelled.' }
}
