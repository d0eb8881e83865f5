import type { RunEventBody } from '../../contract/event.ts'
import type { JsonSchema } from '../../contract/json.ts'
import {
  count,
  DEPLOYMENT,
  flag,
  list,
  JUDGEMENT,
  MADE_CALLS,
  object,
  PART_REFUSALS,
  PROVIDER_CALL,
  ref,
  SOURCE,
  text,
} from './json-schema.ts'

type EventType = RunEventBody['type']
type EventOf<Type extends EventType> = Omit<Extract<RunEventBody, { readonly type: Type }>, 'type'>
type OptionalKey<Event> = { [Key in keyof Event]-?: object extends Pick<Event, Key> ? Key : never }[keyof Event]

const TOKENS = {
  type: 'object',
  description: 'What the edge has learnt of the model’s count of tokens, for its next prompts.',
}

/** The schema of an event: one of each member, so that the compiler names the events that lack one. */
type EventSchema<Event> = { readonly summary: string } & {
  readonly required: { readonly [Key in Exclude<keyof Event, OptionalKey<Event>>]: JsonSchema }
} & ([OptionalKey<Event>] extends [never]
    ? object
    : { readonly optional: { readonly [Key in OptionalKey<Event> & keyof Event]: JsonSchema } })

const time = { type: 'integer', description: 'Epoch milliseconds.' }
const usage = ref('Usage')
const callId = { type: 'string', description: 'The id of the call: the model’s, or one that the edge generated.' }
const parent = { type: 'string', description: 'The call of the program that made this call, if one did.' }
const ask = { ...count, description: 'The number among all that the program has asked for, from 0.' }
const step = { type: 'integer', minimum: 1 }
const errorOfCall = object({ code: text, message: text })
const modelFinish = { enum: ['stop', 'tool_calls', 'length', 'content_filter'] }
const finish = ref('Finish')
const limit = { enum: ['steps', 'calls', 'callsPerTool', 'runMs', 'tokens', 'cost'] }
const argumentsText = { type: 'string', description: 'JSON text, as the model wrote it.' }

const EVENTS: { readonly [Type in EventType]: EventSchema<EventOf<Type>> } = {
  'run.started': {
    summary: 'The run started.',
    required: { model: text, tools: list(text), at: time },
    optional: { conversation: text },
  },
  'input.added': {
    summary: 'The caller sent more input while the run was under way; the model sees it in its next step.',
    required: { messages: list(ref('Message')) },
  },
  'tools.added': {
    summary: 'Tools joined the run, for example because the model searched for them.',
    required: { tools: list({ type: 'object' }) },
  },
  'history.repaired': {
    summary: 'Messages of the history were left out, or missing results were added, so that the provider accepts it.',
    required: { dropped: count, filled: count },
  },
  'history.compacted': {
    summary: 'The messages before position `upTo` were summarised.',
    required: { upTo: count },
    optional: { usage },
  },
  'context.reduced': {
    summary:
      'Earlier messages were reduced, as they took too much of the model’s context window or, with `because`, the model refused them.',
    required: {
      step,
      reduction: {
        ...object(
          { from: count, results: count, files: count, model: text },
          { turn: count, notes: text, summary: text, characters: count, contextTokens: count, tools: list(text) },
        ),
        description: 'What the model is sent from here on, by the positions of messages.',
      },
      before: { ...count, description: 'The estimated tokens of the request before.' },
      after: { ...count, description: 'The estimated tokens of the request now.' },
      room: { ...count, description: 'The tokens that a request may have.' },
    },
    optional: { because: { const: 'refused' }, usage, tokens: TOKENS },
  },
  'step.started': {
    summary: 'The edge sends a request to the model.',
    required: { step },
    optional: {
      tools: { ...list(text), description: 'The tools offered in this step, if they are not all tools of the run.' },
    },
  },
  'step.answered': {
    summary: 'The model’s answer is complete. Its calls come next.',
    required: {
      step,
      text,
      calls: list(object({ callId, tool: text, arguments: argumentsText })),
      finish: modelFinish,
    },
    optional: {
      reasoning: text,
      stopSequence: {
        ...text,
        description: 'The text of `stop` at which the model stopped, where the provider tells.',
      },
      usage,
      roomLeft: { ...count, description: 'The tokens that the prompt left of its room.' },
      tokens: TOKENS,
      opaque: { type: 'object', description: 'Provider data that later requests must return unchanged.' },
      citations: { ...list(ref('Citation')), description: 'The sources on which the text rests.' },
      approvals: list(callId),
      execution: { enum: ['edge', 'caller'] },
    },
  },
  'model.retried': {
    summary: 'A request to the model failed before the answer began, and is made again.',
    required: {
      step,
      code: text,
      durationMs: { ...count, description: 'The time since the request, or since the failure before.' },
    },
    optional: { status: { type: 'integer', description: 'The provider’s HTTP status.' } },
  },
  'model.waiting': {
    summary:
      'The model is overloaded or cannot be reached. The run waits, and asks it again at `until`; see `MODEL_WAIT_MS`.',
    required: {
      step,
      code: text,
      attempts: { ...count, description: 'The requests since the answer before, or the wait before.' },
      at: time,
      until: time,
    },
    optional: { status: { type: 'integer', description: 'The provider’s HTTP status.' } },
  },
  'provider.call': {
    summary:
      'The provider of the model has used a tool of its own (`providerTools`) for this answer. The edge is told of it, and starts nothing.',
    required: { step, ...PROVIDER_CALL.required },
    optional: { ...PROVIDER_CALL.optional, marks: list({ enum: ['untrusted', 'private'] }) },
  },
  'answer.rejected': {
    summary: 'The answer does not fit the requested format. The model is told why and asked again.',
    required: { step, text, issues: text },
    optional: { usage },
  },
  'answer.cut': {
    summary:
      'The run was aborted during this answer. Its text so far stays in the history. Its usage counts; it is estimated if the model reported none.',
    required: { step, usage },
    optional: { text, reasoning: text },
  },
  'approval.requested': {
    summary: 'A person must decide on this call.',
    required: { callId, tool: text, arguments: argumentsText },
    optional: {
      hash: { type: 'string', description: 'The hash of the tool’s definition.' },
      because: { const: 'untrusted_data' },
      input: ref('InputNeeds'),
      parent,
    },
  },
  'approval.decided': {
    summary: 'A person decided on this call.',
    required: { callId, decision: { enum: ['approve', 'reject'] } },
    optional: {
      reason: text,
      input: { type: 'object' },
      by: { type: 'string', description: 'The key that decided, or the tenant.' },
      arguments: {
        type: 'string',
        description: 'The arguments that the person put in place of the model’s, as JSON text.',
      },
      argumentsHash: { type: 'string', description: 'SHA-256 of the canonical JSON of those arguments.' },
    },
  },
  'call.judged': {
    summary:
      'A decision model was asked whether this call may go ahead without a person; if `ok`, it does. With `about`: whether a model may read its result, which is withheld if not.',
    required: { callId, tool: text, ...JUDGEMENT.required, durationMs: count },
    optional: { about: { const: 'result' }, ...JUDGEMENT.optional, parent },
  },
  'call.requested': {
    summary: 'The caller must run this call and send its result.',
    required: { callId, tool: text, arguments: argumentsText },
    optional: { parent },
  },
  'call.started': {
    summary: 'The call is sent to its tool.',
    required: { callId, tool: text, attempt: step, at: time, deadline: time },
    optional: {
      arguments: argumentsText,
      ...SOURCE,
      isProgram: { const: true, description: 'Set if the call is a program, which makes calls of its own.' },
      isAgent: { const: true, description: 'Set if the call starts a run of its own, that of an agent.' },
      parent,
    },
  },
  'call.issued': {
    summary: 'A program asks for a call, which is one of the run.',
    required: { callId, parent, ask, tool: text, arguments: argumentsText },
    optional: { isGuarded: { const: true, description: 'Set if the setup demands an approval of this call.' } },
  },
  'call.suspended': {
    summary: 'A program waits for its calls. It is run again from its start, with the outcomes that are recorded.',
    required: { callId, tool: text },
  },
  'program.woken': { summary: 'A timer of a program has rung.', required: { callId, ask, at: time } },
  'program.diverged': {
    summary: 'A program that was run again asked for something else than before, from this number on.',
    required: { callId, ask },
  },
  'call.interrupted': {
    summary: 'The edge stopped, or time was up, while the call ran. It is sent again with the same idempotency key.',
    required: { callId, tool: text },
    optional: { because: { const: 'timeout' } },
  },
  'call.deferred': {
    summary: 'The tool answers this call later. The run waits for the outcome until the time `until`.',
    required: { callId, tool: text, at: time, until: time },
    optional: {
      poll: {
        ...count,
        description: 'How often the tool is polled, in milliseconds; absent if the outcome is reported.',
      },
      state: { type: 'string', description: 'Comes back to the tool with each poll.' },
      child: {
        ...object({ conversation: text, run: text }),
        description: 'The run of the agent that was called. Its events are read there.',
      },
    },
  },
  'call.reported': {
    summary: 'The outcome of a call that is answered later has arrived.',
    required: { callId, tool: text },
  },
  'call.settled': {
    summary: 'The call has its result, which the model reads next.',
    required: { callId, tool: text, ok: flag, durationMs: count },
    optional: {
      content: list(ref('Content')),
      cut: { ...count, description: 'Bytes of the complete result, if `content` is only a part of it.' },
      structured: {},
      metadata: { type: 'object', description: 'Data beside the result, which no model sees.' },
      error: object({ code: text, message: text }, { fatal: { const: true } }),
      usage: { ...usage, description: 'The usage of models that ran inside the tool.' },
      marks: list({ enum: ['untrusted', 'private'] }),
      calls: MADE_CALLS,
      deployment: DEPLOYMENT,
      parent,
    },
  },
  'call.undone': {
    summary: 'A finished call was undone because the call `because` failed.',
    required: { callId, tool: text, ok: flag, because: callId },
    optional: { error: errorOfCall },
  },
  'call.late': {
    summary: 'The outcome of a call arrived after the call was settled without it. The model does not see it.',
    required: { callId, tool: text, ok: flag, at: time },
    optional: { calls: MADE_CALLS },
  },
  'step.finished': {
    summary: 'All calls of the step are settled.',
    required: { step, finish: modelFinish },
    optional: { usage },
  },
  'step.restarted': {
    summary: 'The model is asked again. Text of the earlier attempt is not part of the answer.',
    required: { step, attempt: step },
    optional: {
      because: {
        type: 'string',
        description: 'The error code of the model whose answer broke off, `interrupted`, or `item_refused`.',
      },
      refusals: PART_REFUSALS,
      usage: { ...usage, description: 'That of the questions by which they were found.' },
    },
  },
  'limit.reached': { summary: 'The run reached a limit.', required: { which: limit } },
  'run.waiting': {
    summary:
      'The run waits for a decision, for results of its caller, for agents that are at work (the answer continues), or for tools that answer later; or it waits for something else than before.',
    required: { for: { enum: ['approval', 'caller', 'agent', 'tool'] }, at: time },
    optional: {
      agents: { ...list(ref('AgentWait')), description: 'The calls in the runs of agents that wait for a person.' },
    },
  },
  'run.parked': {
    summary:
      'The run could not be resumed. It is tried again at `retryAt`; without that it stays parked until somebody retries or cancels it.',
    required: { reason: text, at: time },
    optional: { retryAt: time },
  },
  'run.retried': {
    summary: 'The parked run continues: somebody retried it, or its time has come.',
    required: { at: time },
  },
  'run.resumed': { summary: 'The run continues after waiting.', required: { at: time } },
  'run.cancelling': { summary: 'The run is being cancelled; its open calls are told to stop.', required: {} },
  'run.finished': {
    summary: 'The run has ended. This is always the last event, and there is exactly one.',
    required: { status: { enum: ['completed', 'failed', 'cancelled'] }, finish, answer: text, usage },
    optional: {
      which: limit,
      agentUsage: { ...usage, description: 'The part of `usage` that the runs of agents account for.' },
      error: errorOfCall,
    },
  },
  'reasoning.delta': {
    summary:
      'A delta of the model’s reasoning; empty if the provider keeps that to itself. Deleted ten minutes after the end of the run.',
    required: { step, text },
  },
  'text.delta': {
    summary: 'A delta of the model’s text. Deleted ten minutes after the end of the run.',
    required: { step, text },
  },
  'call.delta': {
    summary: 'A delta of a call’s arguments. Deleted ten minutes after the end of the run.',
    required: { step, index: count, callId, arguments: text },
    optional: { name: { type: 'string', description: 'The name of the tool, in the first delta of a call.' } },
  },
  'call.proposed': {
    summary:
      'The arguments of a call are complete; the model may still be answering. Deleted ten minutes after the end of the run.',
    required: { callId, tool: text, arguments: argumentsText },
  },
  'call.progress': {
    summary: 'The tool reports progress. Deleted ten minutes after the end of the run.',
    required: { callId },
    optional: { message: text, fraction: { type: 'number' }, data: {} },
  },
}

/** Returns what each event says, by its type. */
export function eventSummaries(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(EVENTS).map(([type, { summary }]) => [type, summary]))
}

/** Returns the schemas of events: `RunEvent`, and one for each type, such as `RunEvent.text.delta`. */
export function eventSchemas(): Readonly<Record<string, JsonSchema>> {
  const schemas = Object.entries(EVENTS).map(([type, event]) => {
    const optional = 'optional' in event ? event.optional : {}
    const members = { type: { const: type }, runId: text, seq: step, ...event.required }
    return [`RunEvent.${type}`, { ...object(members, optional), description: event.summary }] as const
  })
  const RunEvent = {
    description:
      'One line of `data` in a stream of events. The `event` of the stream is `type`, its `id` is `<runId>.<seq>`. ' +
      'A client ignores types and members that it does not know.',
    oneOf: schemas.map(([name]) => ref(name)),
  }
  return { RunEvent, ...Object.fromEntries(schemas) }
}
