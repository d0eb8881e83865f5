import * as v from 'valibot'
import { TOOL_NAME } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { type DecodeResult, parseBody } from './body.ts'
import { number, SAMPLING } from './openai-chat/request.ts'
import { clientTool, responseFormat } from './request.ts'
import { broughtOpaque } from '../provider/model-answer.ts'
import {
  choiceWord,
  contentPart,
  idSchema,
  integerFrom,
  plainObject,
  runOptionSchemas,
  someText,
  textOr,
  either,
  userPart,
} from '../schema.ts'

const marks = v.exactOptional(v.array(v.picklist(['untrusted', 'private'])))

const toolName = v.pipe(v.string(), v.regex(TOOL_NAME))

/** Each is shown to models as data alone: the results of a copy are marked as written by others. */
const madeCall = v.object({
  tool: toolName,
  arguments: v.string(),
  outcome: v.string(),
  callId: v.exactOptional(v.string()),
  by: v.exactOptional(v.string()),
  times: v.exactOptional(integerFrom(1)),
})

/**
 * What a copy of a conversation says of messages and requests, as a caller may have written it: the fields that a caller
 * can send or that an answer has, each checked as in a request. All other fields are dropped.
 */
const message = v.variant('role', [
  v.object({ role: v.literal('system'), content: v.string() }),
  v.object({ role: v.literal('user'), content: textOr(userPart), marks }),
  v.object({
    role: v.literal('assistant'),
    content: v.string(),
    reasoning: v.exactOptional(v.string()),
    // A model may have asked for a tool by any name.
    calls: v.exactOptional(v.array(v.object({ callId: someText, tool: v.string(), arguments: v.string() }))),
    opaque: v.exactOptional(v.pipe(v.object({ codec: v.string(), data: v.unknown() }), v.transform(broughtOpaque))),
    wasInterrupted: v.exactOptional(v.literal(true)),
  }),
  v.object({
    role: v.literal('tool'),
    callId: v.string(),
    tool: v.string(),
    ok: v.boolean(),
    content: v.array(contentPart),
    cut: v.exactOptional(integerFrom(0)),
    marks,
    byCaller: v.exactOptional(v.literal(true)),
    sentArguments: v.exactOptional(v.string()),
    calls: v.exactOptional(v.array(madeCall)),
  }),
])

const { tools: _tools, onBusy: _onBusy, ...options } = runOptionSchemas

const request = v.object({
  ...options,
  runId: idSchema,
  fingerprint: v.exactOptional(v.string()),
  input: v.array(message),
  system: v.exactOptional(v.string()),
  model: someText,
  clientTools: v.array(clientTool),
  toolChoice: v.exactOptional(either(isObject, v.object({ tool: v.string() }), choiceWord)),
  responseFormat: v.exactOptional(responseFormat),
  sampling: v.exactOptional(v.object({ ...SAMPLING, thinking: v.exactOptional(plainObject), top_k: number })),
  // That of the edge was added to that of the request, so that it may be longer.
  context: plainObject,
})

/** Parses a message of a copy. */
export function decodeCopiedMessage(value: unknown): DecodeResult<v.InferOutput<typeof message>> {
  return parseBody(message, value)
}

/** Parses the request of a run of a copy, without all that the edge adds to the requests of callers. */
export function decodeCopiedRequest(value: unknown): DecodeResult<v.InferOutput<typeof request>> {
  return parseBody(request, value)
}

const count = integerFrom(0)

const run = v.object({
  place: integerFrom(1),
  id: idSchema,
  toolset: count,
  record: v.nullable(v.string()),
  created: count,
  ended: v.nullable(count),
  pruned: v.nullable(count),
})

/** Parses the columns of a run of a copy, but for those that tell how it continues. */
export function decodeCopiedRun(value: unknown): DecodeResult<v.InferOutput<typeof run>> {
  return parseBody(run, value)
}

const tools = v.array(v.object({ name: v.string(), version: v.exactOptional(v.string(), '') }))

/** Parses a list of tools of a copy, of which only names and versions count. */
export function decodeCopiedTools(value: unknown): DecodeResult<v.InferOutput<typeof tools>> {
  return parseBody(tools, value)
}
