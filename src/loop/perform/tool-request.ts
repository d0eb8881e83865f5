import type { CallInput, InputNeeds } from '../../contract/input.ts'
import { isObject, type JsonObject } from '../../contract/json.ts'
import type { ReportAddress, ToolFailure, ToolRequest } from '../../contract/tool.ts'
import { callPart, traceparentOf } from '../../contract/trace.ts'
import { parseArguments } from '../../host/parse-arguments.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'
import { placedMessages, reductionOf } from '../window/fit.ts'
import { visibleMessages } from '../window/plan.ts'

/** Builds the request of one attempt at a call, or returns a failure for the model if its arguments are invalid. */
export function toolRequest(
  running: Pick<Running, 'state' | 'tools' | 'history' | 'prompt'>,
  { callId, tool: name, arguments: text, key = callId, needs, filledIn = {} }: CallState,
  { attempt, deadline, reportTo }: { attempt: number; deadline: number; reportTo?: ReportAddress },
): { readonly ok: true; readonly value: ToolRequest } | ToolFailure {
  const { state, tools } = running
  const parsed = parseArguments(name, text)
  if (!parsed.ok) return parsed
  const { runId, conversation, caller, context, trusted, compat } = state.request
  // LangChain4j gives tools the memory id "default" where a request names none.
  const conversationId = conversation ?? (compat === 'langchain4j' ? 'default' : undefined)
  const traceparent = traceparentOf(state.request, callPart(callId, attempt))
  const { hash = '', history: wantsHistory = false } = tools.get(name)?.definition ?? {}
  return {
    ok: true,
    value: {
      name,
      arguments: parsed.value,
      hash,
      context: {
        ...(conversationId !== undefined && { conversationId }),
        runId,
        callId,
        idempotencyKey: key,
        attempt,
        deadline,
        caller,
        // A copy, since a tool in this isolate could otherwise change what other calls see.
        values: Object.keys(context).length > 0 ? structuredClone(context) : {},
        ...(trusted && { trusted }),
        ...(compat && { compat }),
        ...(traceparent !== undefined && { traceparent }),
        ...(conversation !== undefined && { asks: [ELICIT] }),
        ...(needs && { input: answerTo(needs, filledIn) }),
        ...(reportTo && { reportTo }),
        ...(state.marks.size > 0 && { marks: [...state.marks] }),
        ...(wantsHistory && { history: visibleMessages(placedMessages(running), reductionOf(running)) }),
      },
    },
  }
}

const ELICIT = 'elicitation/create'

/** Whether a person who decides about calls can answer all that a call asks for. */
export function isForPerson({ requests }: InputNeeds): boolean {
  return Object.values(requests ?? {}).every((request) => request?.method === ELICIT && isObject(request.params))
}

/** Returns the answers of a person who has approved. A page that was opened has no content. */
function answerTo({ requests, state }: InputNeeds, filledIn: Readonly<Record<string, JsonObject>>): CallInput {
  const responses = Object.entries(requests).map(([name, { params }]) => {
    return [name, { action: 'accept', ...(params['mode'] !== 'url' && { content: filledIn[name] ?? {} }) }]
  })
  return { responses: Object.fromEntries(responses), ...(state !== undefined && { state }) }
}
