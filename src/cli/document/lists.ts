import type { JsonSchema } from '../../contract/json.ts'
import { RUN_STATUSES } from '../../contract/run.ts'
import { flag, JUDGEMENT, list, object, ref, text } from './json-schema.ts'
import type { DocumentedRoute } from './operation.ts'

const OBJECT = { type: 'object' }
/** What a call asks for, if it has run and needs input. */
const INPUT = ref('InputNeeds')

/** A call that waits for approval, and its tool, without what only some routes answer with. */
const APPROVAL = {
  id: text,
  run: text,
  conversation: text,
  tool: text,
  argumentsHash: text,
  caller: object({ tenant: text }, { key: text }),
  expires: { type: 'integer', description: 'When it is rejected unless somebody decides, in epoch milliseconds.' },
}
const REASON = {
  because: {
    enum: ['tool', 'setup', 'untrusted_data'],
    description:
      'Why it needs approval: the rule of its definition or of a policy; the rule of the edge’s setup; or that the run has read both untrusted and private data. Absent if the call asks for input.',
  },
  judgement: ref('Judgement'),
  parent: { type: 'string', description: 'The call of the program that made this call, if one did.' },
  program: { type: 'string', description: 'The code of that program, in JavaScript.' },
}
const SHOWN_TOOL = { description: text, annotations: OBJECT, version: text, hash: text }
const SHOWN_OPTIONS = { title: text, undo: flag, approval: {} }
const SUMMARY = {
  id: text,
  status: { enum: RUN_STATUSES },
  created: { type: 'integer', description: 'Epoch milliseconds.' },
}
const ENDED = { ended: { type: 'integer', description: 'Epoch milliseconds; absent until the run has ended.' } }

/** The calls of agents that lead to a run. */
const PATH = {
  path: {
    ...list(object({ run: text, call: text, agent: text }, { conversation: text })),
    description: 'If the run is that of an agent: the calls that lead to it, the outermost first.',
  },
}

/** The schemas of runs and calls in lists, and of a call that is answered alone. */
export const LIST_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Judgement: object(JUDGEMENT.required, JUDGEMENT.optional),
  Approval: object(
    { ...APPROVAL, arguments: {} },
    {
      ...REASON,
      ...PATH,
      input: INPUT,
      definition: object({ ...SHOWN_TOOL, inputSchema: OBJECT }, SHOWN_OPTIONS),
    },
  ),
  Child: {
    ...object(
      { conversation: text, run: text },
      {
        status: { enum: RUN_STATUSES },
        waits: list(ref('AgentWait')),
      },
    ),
    description:
      'The run of the agent that a call has started, and how it stands. `waits`: the calls in it, and in the runs of agents below it, that wait for a person.',
  },
  AgentWait: {
    ...object(
      { conversation: text, run: text, call: text, tool: text, arguments: text, agents: list(text) },
      { input: INPUT },
    ),
    description:
      'A call in the run of an agent that waits for a person. `agents`: those that lead to it, the outermost first. `arguments`: as JSON text.',
  },
  ListedApproval: object(
    { ...APPROVAL, since: { type: 'integer', description: 'When the run began to wait, in epoch milliseconds.' } },
    {
      question: { type: 'string', description: 'How the last question of the run begins.' },
      ...REASON,
      ...PATH,
      arguments: {},
      input: INPUT,
      definition: object(SHOWN_TOOL, SHOWN_OPTIONS),
    },
  ),
  RunSummary: object(SUMMARY, ENDED),
  ListedRun: object(
    {
      ...SUMMARY,
      conversation: text,
      question: { type: 'string', description: 'How the last question of the run begins.' },
      model: text,
      tools: { ...list(text), description: 'The tools that were called, each once.' },
      errors: { ...list(text), description: 'The codes of its error and of those of its calls, each once.' },
      cost: { type: 'number' },
    },
    {
      ...ENDED,
      ...PATH,
      key: text,
      steps: { type: 'integer', description: 'The number of answers of models.' },
      tokens: { type: 'integer', description: 'Input and output tokens together.' },
      limit: { type: 'string', description: 'The limit that the run has reached.' },
    },
  ),
  RunCounts: object({
    runs: { type: 'integer' },
    cost: { type: 'number' },
    statuses: {
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'The number of runs by status.',
    },
  }),
}

const FILTERS = {
  status: 'A status, such as `failed`.',
  tool: 'A tool that was called.',
  error: 'The code of an error of the run or of one of its calls.',
  model: 'The model, as `provider/name`.',
  key: 'The id of the API key that started the run.',
  query: 'A part of the question or of an id.',
  cost: 'The least cost.',
  duration: 'The least duration, in milliseconds.',
  from: 'Accepted on or after this day in UTC or at this time, such as `2026-02-01` or `2026-02-01T08:00:00Z`.',
  to: 'Accepted up to the end of this day, or before this time.',
  agents: '`true`: the runs of agents too. Default: only those that callers have started.',
  parent: 'Only the runs of agents that this run has called, at any depth.',
}

export const COUNT_RUNS: DocumentedRoute = {
  tag: 'Runs',
  id: 'countRuns',
  summary: 'Count the runs of all conversations of the tenant, by status, with their cost',
  description: 'Filters are combined, as in `GET /runs`.',
  scope: 'chat',
  query: FILTERS,
  answers: { 200: { says: 'The counts.', json: 'RunCounts' } },
  errors: { 404: 'The edge lists no runs.' },
}

export const LIST_ALL_RUNS: DocumentedRoute = {
  tag: 'Runs',
  id: 'listAllRuns',
  summary: 'List the runs of all conversations of the tenant, newest first',
  description:
    'Filters are combined. A run is listed when it ends, when it begins to wait, or once it has lasted for ten seconds. Runs without a conversation are not listed. The edge needs the part `metrics`.',
  scope: 'chat',
  query: {
    ...FILTERS,
    latest: '`true`: of each conversation, only the newest run that matches.',
    before: 'Return runs after the run with this id in the list.',
    limit: 'The page size, at most 1000.',
    sort: '`cost`, `duration`, `tokens` or `steps`: the greatest first. Not with `before` or `latest`.',
  },
  answers: { 200: { says: 'The runs.', json: { type: 'array', items: ref('ListedRun') } } },
  errors: { 404: 'The run in `before` is not listed, or the edge lists no runs.' },
}

export const LIST_APPROVALS: DocumentedRoute = {
  tag: 'Runs',
  id: 'listApprovals',
  summary: 'List the calls of all conversations that wait for approval, the one that has waited longest first',
  description:
    'Each can be decided with `POST /conversations/{id}/runs/{run}/calls/{call}`. Arguments of more than 16 KiB are left out; `GET` of the same path has them. Without the scope `chat`, `question` is left out. The edge needs the part `metrics`.',
  scope: 'approve',
  answers: { 200: { says: 'At most 1,000 calls.', json: { type: 'array', items: ref('ListedApproval') } } },
  errors: { 404: 'The edge lists no runs.' },
}
