import type { JsonSchema } from '../../contract/json.ts'
import { RUN_STATUSES } from '../../contract/run.ts'
import { CLIENT_ANSWERS } from './client-answers.ts'
import {
  count,
  DEPLOYMENT,
  flag,
  list,
  MADE_CALLS,
  object,
  PART_REFUSALS,
  PROVIDER_CALL,
  ref,
  SOURCE,
  text,
} from './json-schema.ts'
import { LIST_ANSWERS } from './lists.ts'
import { OPERATOR_ANSWERS } from './operator-answers.ts'
import { SCHEDULE_ANSWERS } from './schedule-routes.ts'
import { fieldSchemas } from './tool-fields.ts'

const OBJECT = { type: 'object' }
const USAGE = ref('Usage')
const TEXT_OR_NULL = { type: ['string', 'null'] }
const FAULT = object({ code: text, message: text }, { retryAfterMs: count })
const FINISH = [
  'stop',
  'return_direct',
  'tool_calls',
  'waiting',
  'length',
  'content_filter',
  'limit',
  'cancelled',
  'error',
]
const CHAT_FINISH = { enum: ['stop', 'length', 'tool_calls', 'content_filter'] }
/** The schemas of the edge's answers, by their names in the document. Answers may have more members than are named. */
export const ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Problem: {
    ...object({ status: count, code: text, detail: text }, { param: text, runId: text, issues: list(OBJECT) }),
    description:
      'Problem details (RFC 9457). `code` is stable, `detail` is for people, and `param` is the path in the request.',
  },
  AnthropicError: object({
    type: { const: 'error' },
    error: object({ type: text, message: text, details: object({ error_code: text }, { param: text }) }),
    request_id: text,
  }),
  McpError: object(
    { jsonrpc: { const: '2.0' }, error: object({ code: { type: 'integer' }, message: text }, { data: {} }) },
    { id: { type: ['string', 'integer', 'null'] } },
  ),
  OpenAIError: object({
    error: object({
      message: text,
      type: text,
      param: { type: ['string', 'null'] },
      code: { type: ['string', 'null'] },
    }),
  }),
  Usage: object(
    { inputTokens: count, outputTokens: count },
    {
      cachedInputTokens: { ...count, description: 'The part of `inputTokens` that the provider read from its cache.' },
      cacheWriteTokens: { ...count, description: 'The part of `inputTokens` that the provider wrote to its cache.' },
      longCacheWriteTokens: {
        ...count,
        description: 'The part of `cacheWriteTokens` that the provider keeps for an hour.',
      },
      reasoningTokens: count,
      webSearches: { ...count, description: 'The searches of the web that the provider made.' },
      cost: { type: 'number' },
    },
  ),
  Finish: { enum: FINISH },
  Citation: object({ url: text }, { title: text, start: count, end: count, quote: text }),
  ProviderCall: object(PROVIDER_CALL.required, PROVIDER_CALL.optional),
  Call: object(
    { id: text, tool: text, arguments: {}, status: { enum: ['open', 'approval', 'caller', 'later', 'settled'] } },
    {
      ...SOURCE,
      deployment: DEPLOYMENT,
      ok: flag,
      durationMs: count,
      content: list(ref('Content')),
      structured: {},
      metadata: OBJECT,
      ...{ error: FAULT, inDoubt: { const: true }, callsInDoubt: MADE_CALLS },
      late: object({ ok: flag }),
      ...{ undone: flag, judgement: ref('Judgement'), resultJudgement: ref('Judgement') },
      child: ref('Child'),
    },
  ),
  Run: object(
    {
      id: text,
      status: { enum: RUN_STATUSES },
      answer: text,
      steps: count,
      usage: USAGE,
      calls: list(ref('Call')),
    },
    {
      conversation: text,
      preambles: list(text),
      prompts: {
        ...list(
          object(
            { step: count },
            {
              inputTokens: count,
              cachedInputTokens: count,
              cacheWriteTokens: count,
              roomLeft: {
                ...count,
                description: 'The window without the room for the answer, and without the prompt.',
              },
              reductions: list(object({ before: count, after: count }, { because: { const: 'refused' } })),
            },
          ),
        ),
        description:
          'What the model was sent in each step, in tokens, if its window is known or something was reduced.',
      },
      finish: ref('Finish'),
      waitsFor: {
        enum: ['approval', 'caller', 'agent', 'tool'],
        description: 'What the run waits for, while it waits. `agent`: for an agent that is at work.',
      },
      which: { type: 'string', description: 'The limit that was reached, if `finish` is `limit`.' },
      providerCalls: {
        ...list(ref('ProviderCall')),
        description: 'What the providers of its models did with tools of their own.',
      },
      refusals: PART_REFUSALS,
      citations: { ...list(ref('Citation')), description: 'The sources on which the answer rests.' },
      modelWait: object({
        code: { type: 'string', description: 'Why the run waits for its model.' },
        until: { ...count, description: 'When the model is asked again, in epoch milliseconds.' },
      }),
      error: FAULT,
      isPartial: {
        const: true,
        description: 'The run is too large for one answer. Its messages and events have the rest.',
      },
    },
  ),
  ...LIST_ANSWERS,
  ...OPERATOR_ANSWERS,
  ...SCHEDULE_ANSWERS,
  ...CLIENT_ANSWERS,
  StoredMessage: object(
    { position: count, run: text, message: OBJECT },
    { replaced: { const: true }, isCut: { const: true } },
  ),
  ConversationReference: object({ id: text }),
  RestoredConversation: object({ id: text, signed: flag }, { part: count }),
  Model: object(
    { id: text, object: { const: 'model' }, created: count, owned_by: text },
    { edgecall: ref('ModelCapabilities') },
  ),
  ModelCapabilities: {
    ...object(
      { contextTokens: count },
      {
        outputTokens: count,
        tools: flag,
        parallelCalls: flag,
        singleCalls: flag,
        toolChoice: flag,
        streamedArguments: flag,
        imagesInResults: flag,
        structuredOutput: flag,
        imageUrls: flag,
        fileUrls: flag,
      },
    ),
    description:
      'The model’s context window and longest answer in tokens, and what the edge’s codec supports with it. The model itself may support less.',
  },
  ModelList: object({ object: { const: 'list' }, data: list(ref('Model')) }),
  AcceptedTool: object({ name: text, hash: text }),
  Caller: object({ tenant: text, scopes: list(text), currency: text }, { key: text }),
  Spend: object(
    {},
    {
      key: text,
      period: object({ from: text, to: text }),
      tokens: count,
      cost: { type: 'number' },
      runs: count,
      budget: OBJECT,
      quotas: OBJECT,
      ...{ by: text, from: text, to: text, usage: list(OBJECT) },
    },
  ),
  ChatCompletion: {
    ...object({
      id: text,
      object: { const: 'chat.completion' },
      created: count,
      model: text,
      choices: list(ref('ChatChoice')),
      usage: ref('ChatUsage'),
      edgecall: ref('Report'),
    }),
    description: 'OpenAI’s object of this name. Calls that ran at the edge are listed in `edgecall` only.',
  },
  ChatChoice: object({
    index: count,
    message: object(
      { role: { const: 'assistant' }, content: TEXT_OR_NULL, refusal: { type: 'null' } },
      { reasoning_content: text, tool_calls: list(ref('ChatToolCall')) },
    ),
    logprobs: { type: 'null' },
    finish_reason: CHAT_FINISH,
  }),
  ChatToolCall: object({
    id: text,
    type: { const: 'function' },
    function: object({ name: text, arguments: text }),
  }),
  ChatUsage: object(
    { prompt_tokens: count, completion_tokens: count, total_tokens: count },
    {
      prompt_tokens_details: object({}, { cached_tokens: count }),
      completion_tokens_details: object({}, { reasoning_tokens: count }),
    },
  ),
  ChatCompletionChunk: {
    ...object(
      {
        id: text,
        object: { const: 'chat.completion.chunk' },
        created: count,
        model: text,
        choices: list(
          object({
            index: count,
            delta: object(
              {},
              {
                role: { const: 'assistant' },
                content: text,
                reasoning_content: text,
                tool_calls: list({ allOf: [ref('ChatToolCall'), object({ index: count })] }),
              },
            ),
            logprobs: { type: 'null' },
            finish_reason: { anyOf: [CHAT_FINISH, { type: 'null' }] },
          }),
        ),
      },
      { usage: { anyOf: [ref('ChatUsage'), { type: 'null' }] } },
    ),
    description: 'OpenAI’s object of this name. After the last chunk comes the text `[DONE]`.',
  },
  ResponseEvent: {
    ...object({ type: text, sequence_number: count }),
    description: 'A streaming event of OpenAI’s Responses API. Its `type` says which further members it has.',
  },
  OpenAIResponse: {
    ...object(
      {
        id: text,
        object: { const: 'response' },
        status: { enum: ['completed', 'incomplete', 'failed', 'cancelled', 'in_progress', 'queued'] },
        model: text,
        output: list(ref('ResponseItem')),
      },
      {
        created_at: count,
        error: { anyOf: [object({ code: text, message: text }, { edgecall: text }), { type: 'null' }] },
        incomplete_details: { anyOf: [object({ reason: text }), { type: 'null' }] },
        usage: { anyOf: [ref('ResponseUsage'), { type: 'null' }] },
        edgecall: object({ runId: text, steps: count, finish: ref('Finish') }, { conversation: text }),
      },
    ),
    description: 'OpenAI’s object of this name. Calls that ran at the edge are items of type `mcp_call`.',
  },
  ResponseItem: {
    anyOf: [
      object({
        type: { const: 'message' },
        id: text,
        role: { const: 'assistant' },
        status: text,
        content: list(object({ type: { const: 'output_text' }, text, annotations: list(OBJECT) })),
      }),
      object(
        {
          type: { const: 'reasoning' },
          id: text,
          summary: list(object({ type: { const: 'summary_text' }, text })),
        },
        { encrypted_content: text },
      ),
      object({ type: { const: 'function_call' }, id: text, call_id: text, name: text, arguments: text, status: text }),
      object(
        { type: { const: 'mcp_call' }, id: text, server_label: text, name: text, arguments: text },
        { status: text, output: TEXT_OR_NULL, error: {}, approval_request_id: TEXT_OR_NULL },
      ),
      object({ type: { const: 'mcp_approval_request' }, id: text, server_label: text, name: text, arguments: text }),
    ],
  },
  ResponseUsage: object({
    input_tokens: count,
    input_tokens_details: object({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: object({ reasoning_tokens: count }),
    total_tokens: count,
  }),
  Report: object(
    { runId: text, steps: count, calls: list(ref('ReportedCall')), finish: ref('Finish') },
    { conversation: text },
  ),
  ReportedCall: object({ id: text, tool: text, arguments: {}, ok: flag, durationMs: count }),
  Tool: object(
    {
      name: text,
      source: text,
      place: text,
      available: flag,
      offered: { ...flag, description: 'Whether it is offered to requests that name no tools.' },
    },
    {
      ...fieldSchemas(),
      accepted: {
        type: ['string', 'null'],
        description:
          'For a tool that awaits acceptance: the hash of the accepted definition, which `…/versions/{hash}` returns.',
      },
      reason: { type: 'string', description: 'The reason why the tool is unavailable.' },
      policies: {
        ...list(ref('HoldingPolicy')),
        description:
          'From `GET /tools/{name}` with a key of scope `tools:admin`: the policies that hold, in their order.',
      },
    },
  ),
  Outcome: object(
    { ok: flag, content: list(ref('Content')), durationMs: count },
    { structured: {}, metadata: OBJECT, usage: USAGE, error: FAULT },
  ),
  InputNeeds: object({ requests: { type: 'object', additionalProperties: ref('InputRequest') } }, { state: text }),
  InputRequest: object({ method: text, params: OBJECT }),
  Connection: object(
    {
      owner: { enum: ['edge', 'tenant'] },
      server: text,
      url: text,
      signIn: { enum: ['edge', 'tenant', 'none'], description: 'Who must sign in.' },
      connected: flag,
    },
    {
      scope: { type: 'string', description: 'The granted scopes, with spaces between.' },
      expiresAt: { type: 'integer', description: 'When the present token expires, in epoch milliseconds.' },
      issuer: { type: 'string', description: 'The authorization server that credentials may go to.' },
      heldBack: { type: 'string', description: 'Why its tools are not called until an operator has looked.' },
    },
  ),
  Version: object({
    name: text,
    hash: text,
    change: { enum: ['created', 'unchanged', 'compatible', 'breaking'] },
    breaks: list(OBJECT),
    warnings: list(object({ path: text, message: text })),
  }),
  RefusedDefinition: object({ valid: { const: false }, issues: list(object({ path: text, message: text })) }),
  CheckedDefinition: object({
    valid: { const: true },
    definition: object({ name: text, hash: text }, fieldSchemas()),
    change: { enum: ['created', 'unchanged', 'compatible', 'breaking'] },
    breaks: list(OBJECT),
    warnings: list(object({ path: text, message: text })),
  }),
  HistoryEntry: object(
    {
      revision: count,
      action: { enum: ['put', 'rollback', 'delete'] },
      by: OBJECT,
      at: { type: 'string', format: 'date-time' },
    },
    { hash: text, version: text, change: text, breaks: list(OBJECT) },
  ),
}
