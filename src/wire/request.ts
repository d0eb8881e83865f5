import * as v from 'valibot'
import { ID, TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { Message } from '../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../contract/model.ts'
import type { ClientTool, Limits, OnBusy, RunRequest, ToolSelection } from '../contract/run.ts'
import { bodyFault, type Decoded, parseBody } from './body.ts'
import { checkHistory, explainHistory } from './history.ts'

/** Which text of a run is shown: the answer alone, or that before tool calls too. */
export type Rounds = 'final' | 'all'

/** The body of `POST …/runs`. */
export interface RunBody {
  readonly input: readonly Message[]
  readonly system?: string
  readonly model?: string
  readonly tools?: ToolSelection
  readonly clientTools?: readonly ClientTool[]
  readonly context?: Readonly<Record<string, unknown>>
  readonly toolChoice?: ToolChoice
  readonly limits?: Partial<Limits>
  readonly responseFormat?: ResponseFormat
  readonly onBusy?: OnBusy
  readonly execution?: RunRequest['execution']
  readonly rounds?: Rounds
}

const MOST_CONTEXT = 16 * 1024
const COUNT = 'must be a whole number from 1.'
const SCHEMA = 'must be a JSON Schema, which is an object.'

const count = v.pipe(v.number(), v.integer(COUNT), v.minValue(1, COUNT))

/** A request's limits: the names of `Limits`, whole numbers from 1. */
export const limitsSchema = v.strictObject({
  steps: v.exactOptional(count),
  calls: v.exactOptional(count),
  callsPerTool: v.exactOptional(count),
  callMs: v.exactOptional(count),
  runMs: v.exactOptional(count),
  resultBytes: v.exactOptional(count),
  concurrentCalls: v.exactOptional(count),
  tokens: v.exactOptional(count),
})

const toolName = v.pipe(v.string(), v.regex(TOOL_NAME, `must match ${TOOL_NAME.source}.`))

/** `["a"]` replaces the default set, `{ add, remove }` edits it. */
export const toolsSchema = v.lazy((value) =>
  Array.isArray(value)
    ? v.array(toolName)
    : v.strictObject({ add: v.exactOptional(v.array(toolName)), remove: v.exactOptional(v.array(toolName)) }),
)

/** The tool context: at most 16 KiB of JSON. */
export const contextSchema = v.pipe(
  v.custom<Record<string, unknown>>(isObject, 'must be an object.'),
  v.check((context) => bytesOf(context) <= MOST_CONTEXT, `may have ${MOST_CONTEXT} bytes of JSON.`),
)

export const idSchema = v.pipe(v.string(), v.regex(ID, `must match ${ID.source}.`))
export const executionSchema = v.picklist(['edge', 'caller'])
export const roundsSchema = v.picklist(['final', 'all'])

/** The schema of a tool's arguments. One without a type, such as `{}`, is taken for that of an object. */
export const parametersSchema = v.pipe(
  v.custom<Record<string, unknown>>(isObject, SCHEMA),
  v.check(({ type }) => type === undefined || type === 'object', 'must have type "object" at its root.'),
  v.transform((schema) => (schema.type === 'object' ? schema : { type: 'object', properties: {}, ...schema })),
)

const text = v.strictObject({ type: v.literal('text'), text: v.string() })
const binary = v.strictObject({ type: v.picklist(['image', 'file']), mediaType: v.string(), data: v.string() })
const content = v.lazy((value) => (typeof value === 'string' ? v.string() : v.array(v.variant('type', [text, binary]))))

const message = v.variant('role', [
  v.strictObject({ role: v.literal('system'), content: v.string() }),
  v.strictObject({ role: v.literal('user'), content }),
  v.strictObject({
    role: v.literal('assistant'),
    content: v.string(),
    reasoning: v.exactOptional(v.string()),
    calls: v.exactOptional(
      v.array(
        v.strictObject({
          callId: v.pipe(v.string(), v.nonEmpty('must not be empty.')),
          tool: toolName,
          arguments: v.string(),
        }),
      ),
    ),
  }),
  v.strictObject({
    role: v.literal('tool'),
    callId: v.string(),
    tool: v.exactOptional(v.string(), ''),
    ok: v.exactOptional(v.boolean(), true),
    content: v.pipe(
      content,
      v.transform((value) => (typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value)),
    ),
  }),
])

const clientTool = v.strictObject({
  name: toolName,
  description: v.exactOptional(v.string(), ''),
  inputSchema: v.exactOptional(parametersSchema, {}),
})

const responseFormat = v.variant('type', [
  v.strictObject({ type: v.picklist(['text', 'json_object']) }),
  v.strictObject({
    type: v.literal('json_schema'),
    name: v.string(),
    schema: v.custom<Record<string, unknown>>(isObject, SCHEMA),
    strict: v.exactOptional(v.boolean()),
  }),
])

const runBody = v.strictObject({
  input: v.lazy((value) =>
    typeof value === 'string' ? v.pipe(v.string(), v.nonEmpty('must not be empty.')) : v.array(message),
  ),
  system: v.exactOptional(v.string()),
  model: v.exactOptional(v.string()),
  tools: v.exactOptional(toolsSchema),
  clientTools: v.exactOptional(v.array(clientTool)),
  context: v.exactOptional(contextSchema),
  toolChoice: v.exactOptional(
    v.lazy((value) =>
      isObject(value) ? v.strictObject({ tool: toolName }) : v.picklist(['auto', 'none', 'required']),
    ),
  ),
  limits: v.exactOptional(limitsSchema),
  responseFormat: v.exactOptional(responseFormat),
  onBusy: v.exactOptional(v.picklist(['queue', 'reject', 'interrupt', 'steer'])),
  execution: v.exactOptional(executionSchema),
  rounds: v.exactOptional(roundsSchema),
})

/** Reads the body of a native run. A text as `input` is one user message. Unknown members are errors, not ignored. */
export function decodeRunBody(body: unknown): Decoded<RunBody> {
  const parsed = parseBody(runBody, body)
  if (!parsed.ok) return parsed
  const { input, ...rest } = parsed.request
  const messages: readonly Message[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const history = checkHistory(messages)
  if (!history.ok) {
    const { kind, index } = history.fault
    const path = kind === 'no_messages' ? 'input' : `input[${index}]`
    return { ok: false, error: bodyFault(path, explainHistory(history.fault)) }
  }
  const twice = duplicateName(rest.clientTools ?? [])
  if (twice !== undefined) return { ok: false, error: bodyFault(`clientTools[${twice}].name`, DUPLICATE_NAME) }
  return { ok: true, request: { ...rest, input: history.messages } }
}

export const DUPLICATE_NAME = 'another tool has this name.'

/** The place of the first tool whose name an earlier one has. */
export function duplicateName(tools: readonly { readonly name: string }[]): number | undefined {
  const names = tools.map(({ name }) => name)
  const place = names.findIndex((name, index) => names.indexOf(name) !== index)
  return place === -1 ? undefined : place
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}
