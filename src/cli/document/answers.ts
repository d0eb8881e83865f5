import type { JsonSchema } from '../../contract/json.ts'

const TEXT = { type: 'string' }
const COUNT = { type: 'integer', minimum: 0 }
const FLAG = { type: 'boolean' }
const OBJECT = { type: 'object' }
const USAGE = { $ref: '#/components/schemas/Usage' }
const FAULT = object({ code: TEXT, message: TEXT })
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
const STATUS = ['queued', 'running', 'waiting', 'cancelling', 'completed', 'failed', 'cancelled']

/** The schemas of the edge's answers, by their names in the document. Answers may have more members than are named. */
export const ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Problem: {
    ...object({ status: COUNT, code: TEXT, detail: TEXT }, { param: TEXT, runId: TEXT, issues: list(OBJECT) }),
    description: 'RFC 9457. `code` is stable, `detail` is for people, `param` says where in the request.',
  },
  OpenAIError: object({
    error: object({
      message: TEXT,
      type: TEXT,
      param: { type: ['string', 'null'] },
      code: { type: ['string', 'null'] },
    }),
  }),
  Usage: object(
    { inputTokens: COUNT, outputTokens: COUNT },
    { cachedInputTokens: COUNT, reasoningTokens: COUNT, cost: { type: 'number' } },
  ),
  Call: object(
    { id: TEXT, tool: TEXT, arguments: {}, status: { enum: ['open', 'approval', 'caller', 'settled'] } },
    {
      ok: FLAG,
      durationMs: COUNT,
      content: list({ $ref: '#/components/schemas/Content' }),
      structured: {},
      error: FAULT,
      late: object({ ok: FLAG }),
      undone: FLAG,
    },
  ),
  Run: object(
    {
      id: TEXT,
      status: { enum: STATUS },
      answer: TEXT,
      steps: COUNT,
      usage: USAGE,
      calls: list({ $ref: '#/components/schemas/Call' }),
    },
    {
      conversation: TEXT,
      preambles: list(TEXT),
      finish: { enum: FINISH },
      which: { type: 'string', description: 'The limit behind `finish: "limit"`.' },
      error: FAULT,
    },
  ),
  RunSummary: object({
    id: TEXT,
    status: { enum: STATUS },
    created: { type: 'integer', description: 'Epoch milliseconds.' },
  }),
  StoredMessage: object({ position: COUNT, run: TEXT, message: OBJECT }, { replaced: { const: true } }),
  Named: object({ id: TEXT }),
  Model: object(
    { id: TEXT, object: { const: 'model' }, created: COUNT, owned_by: TEXT },
    { edgecall: { $ref: '#/components/schemas/ModelCapabilities' } },
  ),
  ModelCapabilities: {
    ...object({
      tools: FLAG,
      parallelCalls: FLAG,
      singleCalls: FLAG,
      toolChoice: FLAG,
      streamedArguments: FLAG,
      imagesInResults: FLAG,
      structuredOutput: FLAG,
    }),
    description: 'What can be said to the model and heard of it, as far as the edge’s codec goes.',
  },
  ModelList: object({ object: { const: 'list' }, data: list({ $ref: '#/components/schemas/Model' }) }),
  Accepted: object({ name: TEXT, hash: TEXT }),
  Spend: object(
    {},
    {
      key: TEXT,
      period: object({ from: TEXT, to: TEXT }),
      tokens: COUNT,
      cost: { type: 'number' },
      runs: COUNT,
      budget: OBJECT,
    },
  ),
  ChatCompletion: {
    ...object({
      id: TEXT,
      object: { const: 'chat.completion' },
      created: COUNT,
      model: TEXT,
      choices: list(OBJECT),
      usage: OBJECT,
      edgecall: { $ref: '#/components/schemas/Report' },
    }),
    description: 'As OpenAI has it. Calls that ran at the edge are in `edgecall` alone.',
  },
  Response: {
    ...object({
      id: TEXT,
      object: { const: 'response' },
      status: { enum: ['completed', 'incomplete', 'failed', 'in_progress'] },
      model: TEXT,
      output: list(OBJECT),
      edgecall: OBJECT,
    }),
    description: 'As OpenAI has it. Calls that ran at the edge are items of type `mcp_call`.',
  },
  Report: object({ runId: TEXT, steps: COUNT, calls: list(OBJECT), finish: { enum: FINISH } }, { conversation: TEXT }),
  Tool: object(
    { name: TEXT, source: TEXT, place: TEXT, available: FLAG },
    {
      title: TEXT,
      description: TEXT,
      inputSchema: OBJECT,
      outputSchema: OBJECT,
      version: TEXT,
      hash: TEXT,
      annotations: OBJECT,
      returnDirect: { enum: ['always', 'if-last'] },
      approval: { enum: ['never', 'always'] },
      tags: list(TEXT),
      reason: { type: 'string', description: 'Why it is not available.' },
    },
  ),
  Outcome: object(
    { ok: FLAG, content: list({ $ref: '#/components/schemas/Content' }), durationMs: COUNT },
    { structured: {}, usage: USAGE, error: FAULT },
  ),
  Version: object({
    name: TEXT,
    hash: TEXT,
    change: { enum: ['created', 'unchanged', 'compatible', 'breaking'] },
    breaks: list(OBJECT),
  }),
  HistoryEntry: object(
    {
      revision: COUNT,
      action: { enum: ['put', 'rollback', 'delete'] },
      by: OBJECT,
      at: { type: 'string', format: 'date-time' },
    },
    { hash: TEXT, version: TEXT, change: TEXT, breaks: list(OBJECT) },
  ),
}

function object(required: Readonly<Record<string, JsonSchema>>, optional: Readonly<Record<string, JsonSchema>> = {}) {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}
