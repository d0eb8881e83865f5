import type { JsonSchema } from '../../contract/json.ts'
import { count, flag, list, object, ref, text } from './json-schema.ts'
import { fieldSchemas } from './tool-fields.ts'

const OBJECT = { type: 'object' }
const USAGE = ref('Usage')
const FAULT = object({ code: text, message: text })
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
const STATUS = ['queued', 'running', 'waiting', 'parked', 'cancelling', 'completed', 'failed', 'cancelled']

/** The schemas of the edge's answers, by their names in the document. Answers may have more members than are named. */
export const ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Problem: {
    ...object({ status: count, code: text, detail: text }, { param: text, runId: text, issues: list(OBJECT) }),
    description: 'RFC 9457. `code` is stable, `detail` is for people, `param` says where in the request.',
  },
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
    { cachedInputTokens: count, reasoningTokens: count, cost: { type: 'number' } },
  ),
  Finish: { enum: FINISH },
  Call: object(
    { id: text, tool: text, arguments: {}, status: { enum: ['open', 'approval', 'caller', 'settled'] } },
    {
      ok: flag,
      durationMs: count,
      content: list(ref('Content')),
      structured: {},
      error: FAULT,
      late: object({ ok: flag }),
      undone: flag,
    },
  ),
  Run: object(
    {
      id: text,
      status: { enum: STATUS },
      answer: text,
      steps: count,
      usage: USAGE,
      calls: list(ref('Call')),
    },
    {
      conversation: text,
      preambles: list(text),
      finish: ref('Finish'),
      which: { type: 'string', description: 'The limit behind `finish: "limit"`.' },
      error: FAULT,
      isPartial: { const: true, description: 'The run was too large: see its messages and events for the rest.' },
    },
  ),
  Approval: object(
    {
      id: text,
      run: text,
      conversation: text,
      tool: text,
      arguments: {},
      argumentsHash: text,
      caller: object({ tenant: text }, { key: text }),
    },
    {
      definition: object(
        { description: text, annotations: OBJECT, version: text, hash: text, inputSchema: OBJECT },
        { title: text },
      ),
    },
  ),
  RunSummary: object(
    { id: text, status: { enum: STATUS }, created: { type: 'integer', description: 'Epoch milliseconds.' } },
    { ended: { type: 'integer', description: 'Epoch milliseconds; absent until the run has ended.' } },
  ),
  StoredMessage: object(
    { position: count, run: text, message: OBJECT },
    { replaced: { const: true }, isCut: { const: true } },
  ),
  Named: object({ id: text }),
  Model: object(
    { id: text, object: { const: 'model' }, created: count, owned_by: text },
    { edgecall: ref('ModelCapabilities') },
  ),
  ModelCapabilities: {
    ...object({
      tools: flag,
      parallelCalls: flag,
      singleCalls: flag,
      toolChoice: flag,
      streamedArguments: flag,
      imagesInResults: flag,
      structuredOutput: flag,
    }),
    description: 'What can be said to the model and heard of it, as far as the edge’s codec goes.',
  },
  ModelList: object({ object: { const: 'list' }, data: list(ref('Model')) }),
  Accepted: object({ name: text, hash: text }),
  Spend: object(
    {},
    {
      key: text,
      period: object({ from: text, to: text }),
      tokens: count,
      cost: { type: 'number' },
      runs: count,
      budget: OBJECT,
    },
  ),
  ChatCompletion: {
    ...object({
      id: text,
      object: { const: 'chat.completion' },
      created: count,
      model: text,
      choices: list(OBJECT),
      usage: OBJECT,
      edgecall: ref('Report'),
    }),
    description: 'As OpenAI has it. Calls that ran at the edge are in `edgecall` alone.',
  },
  Response: {
    ...object({
      id: text,
      object: { const: 'response' },
      status: { enum: ['completed', 'incomplete', 'failed', 'in_progress'] },
      model: text,
      output: list(OBJECT),
      edgecall: OBJECT,
    }),
    description: 'As OpenAI has it. Calls that ran at the edge are items of type `mcp_call`.',
  },
  Report: object({ runId: text, steps: count, calls: list(OBJECT), finish: ref('Finish') }, { conversation: text }),
  Tool: object(
    { name: text, source: text, place: text, available: flag },
    {
      ...fieldSchemas(),
      accepted: {
        type: ['string', 'null'],
        description: 'Of a tool that is held back: the hash of what was accepted, which `…/versions/{hash}` shows.',
      },
      reason: { type: 'string', description: 'Why it is not available.' },
    },
  ),
  Outcome: object(
    { ok: flag, content: list(ref('Content')), durationMs: count },
    { structured: {}, usage: USAGE, error: FAULT },
  ),
  Version: object({
    name: text,
    hash: text,
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
