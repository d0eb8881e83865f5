import { termsOfCaller } from '../../contract/caller-terms.ts'
import { deriveRunId, newId } from '../../contract/id.ts'
import type { InputRequest } from '../../contract/input.ts'
import { isObject, type JsonObject } from '../../contract/json.ts'
import { ALL_CAPABILITIES, type ModelEvent, type ModelProvider } from '../../contract/model.ts'
import { TASK_MODEL, TASK_PROVIDER, type TaskCall, taskCallOf } from '../../contract/mcp-task.ts'
import { idIn } from '../../contract/placement.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Tool, ToolFailure } from '../../contract/tool.ts'
import { truncateOutcome } from '../../host/truncate.ts'
import { type CallRecord, isTerminal, type RunRecord } from '../../contract/run.ts'
import {
  INVALID_PARAMS,
  isFault,
  type McpFault,
  type McpMessage,
  mcpFault,
  missingCapability,
} from '../../wire/client/mcp/message.ts'
import {
  faultOf,
  type McpTask,
  statusOf,
  takesTasks,
  TASKS,
  toCreatedTask,
  toTask,
  toTaskResult,
} from '../../wire/client/mcp/task.ts'
import { isElicitation, readInput } from '../../wire/client/mcp/tool.ts'
import { requireScope } from '../middleware/auth.ts'
import { unwrapReply } from '../problem.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { signAnswer } from '../runs/continue-run.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import { prepareRun } from '../runs/prepare-run.ts'
import { followToEnd, type RunHandle } from '../runs/run-handle.ts'
import { startInConversation } from '../runs/start-run.ts'
import { requireBytes } from '../runs/storage-quota.ts'
import { approvalOf, mayApprove } from './mcp-questions.ts'
import { mcpTools } from './mcp-relay.ts'

/*
 * A task of MCP is a run that makes one call, in a conversation of its own that no list has: so it is stored, waits for an
 * outcome that comes later or for a person, and is cancelled as any run is. No model is asked; the function below
 * answers in the place of one.
 */

/** How long a task is stored: a call waits for its outcome for seven days at most. */
export const TASK_TTL_MS = 8 * 24 * 60 * 60 * 1000

/**
 * Makes the model of tasks: it asks for the call that the edge has put into the options of its provider, and ends the run
 * once the call has its result. A request that names it itself gets an error.
 */
export const taskModels: ModelProvider = () => ({
  name: TASK_MODEL,
  capabilities: ALL_CAPABILITIES,
  stream: async function* ({ messages, providerOptions }): AsyncGenerator<ModelEvent, void> {
    const call = taskCallOf({ providerOptions })
    if (!call) {
      const error = { code: 'model_refused_request', message: 'This model makes the calls of tasks.', retryable: false }
      return yield { type: 'error', error }
    }
    if (messages.at(-1)?.role === 'tool') {
      yield { type: 'text', text: 'The call is over.' }
      return yield { type: 'finish', finish: 'stop' }
    }
    yield { type: 'call', index: 0, tool: call.tool, arguments: call.arguments }
    yield { type: 'finish', finish: 'tool_calls' }
  },
})

/** A call that is to be made by a run. */
export interface CallOfRun {
  readonly tool: Tool
  readonly arguments: JsonObject
  /** The tool context that the request brings. */
  readonly context?: JsonObject | undefined
  /** What the call came to before: its tool asks for input. Default: it has not been made. */
  readonly question?: ToolFailure | undefined
}

/** Starts a call as a task. Returns the result of the request, once the task is stored. */
export async function startTask({ modern }: McpMessage, context: RequestContext, call: CallOfRun): Promise<object> {
  const { setup, caller, request } = context
  const key = request.headers.get('idempotency-key')
  const runId = key === null ? newId('run') : await deriveRunId(caller.tenant, 'tasks', key)
  const id = idIn(termsOfCaller(setup, caller)?.jurisdiction, runId.replace(/^run/, 'task'))
  await startCall(context, call, { id })
  const created = await readTask(id, context)
  return isFault(created) ? created : toCreatedTask(created, modern)
}

/**
 * Starts the run of a call in a conversation that no list has. `runId`: the id of the run, which then is not started a second
 * time, and is the first of its conversation. Default: that of any run.
 */
export async function startCall(
  context: RequestContext,
  { tool, arguments: args, context: values, question }: CallOfRun,
  { id, runId }: { readonly id: string; readonly runId?: string },
): Promise<RunHandle> {
  requireBytes(context)
  const call: TaskCall = {
    tool: tool.definition.name,
    arguments: JSON.stringify(args),
    ...(question && { question }),
  }
  const preparedRun = await prepareRun(
    context,
    {
      input: [{ role: 'user', content: `Call ${call.tool} with ${call.arguments}.` }],
      model: TASK_MODEL,
      // One that is for apps alone is not among those that a run may name.
      tools: [],
      context: values,
      ...{ execution: 'edge', toolErrors: 'model', onLimit: 'fail', code: 'off' },
      ...{ compensate: false, eager: false, cancelOnDisconnect: false },
    },
    { conversation: id },
  )
  // No user has written the input, so that no decision model may approve the call in a person's place.
  const { isFromUser: _, ...run } = preparedRun.run
  const { fingerprint: _key, ...unkeyedRun } = run
  const ownRun = runId === undefined ? run : { ...unkeyedRun, runId }
  const task = { run: { ...ownRun, providerOptions: { [TASK_PROVIDER]: { ...call } } }, tools: [tool] }
  const begins = runId !== undefined && { begins: true }
  return startInConversation(context, task, {
    id,
    onBusy: 'queue',
    create: true,
    expires: Date.now() + TASK_TTL_MS,
    ...begins,
  })
}

/** Answers a request about a task; undefined for any other request. */
export async function answerTask(message: McpMessage, context: RequestContext): Promise<object | undefined> {
  const { method, params, modern } = message
  const perform = METHODS.get(method)
  if (!perform || method === (modern ? 'tasks/result' : 'tasks/update')) return undefined
  if (modern && !takesTasks(message)) return missingCapability({ extensions: { [TASKS]: {} } })
  const needsResult = method === 'tasks/result' || (modern && method === 'tasks/get')
  const task = await readTask(params['taskId'], context, { message, needsResult })
  return isFault(task) ? task : perform(task, context, message)
}

type TaskMethod = (task: McpTask, context: RequestContext, message: McpMessage) => object | Promise<object>

const METHODS: ReadonlyMap<string, TaskMethod> = new Map<string, TaskMethod>([
  ['tasks/get', (task, _context, { modern }) => toTask(task, modern)],
  ['tasks/result', resultOfTask],
  ['tasks/update', updateTask],
  ['tasks/cancel', cancelTask],
])

interface TaskReading {
  /** The message of a client who could answer what the call asks for. */
  readonly message?: McpMessage
  /** Whether the result of the call is needed as clients get it. Default: how the task stands is enough. */
  readonly needsResult?: boolean
}

/** Returns a task of the caller's tenant, which is a conversation of its own; a fault if there is none. */
async function readTask(
  id: unknown,
  context: EdgeContext,
  { message, needsResult }: TaskReading = {},
): Promise<McpTask | McpFault> {
  if (typeof id !== 'string' || !TASK_ID.test(id)) return UNKNOWN_TASK
  const stub = conversationStub(context, id)
  const page = await stub.runs({ limit: 1 })
  const [summary] = page.ok ? page.runs : []
  const reply = summary && (await stub.record(summary.id, 0))
  if (!summary || !reply?.ok) return UNKNOWN_TASK
  const { record } = reply
  const [call] = record.calls
  const [tool] = call ? await mcpTools(context).find([call.tool]) : []
  const requests =
    message && call?.status === 'approval' ? await requestsOf(call, { id, record }, context, message) : undefined
  const clientRecord = needsResult ? await forClient(record, id, { context, definition: tool?.definition }) : record
  const { created, ended } = summary
  return { id, record: clientRecord, created, ended, ttlMs: TASK_TTL_MS, definition: tool?.definition, requests }
}

/**
 * Returns a record with its result as clients get it: one over the limit is cut without the note for models, who can read
 * on.
 */
export async function forClient(
  record: RunRecord,
  conversation: string,
  { context, definition }: { readonly context: EdgeContext; readonly definition?: ToolDefinition | undefined },
): Promise<RunRecord> {
  const [call] = record.calls
  if (!call || record.status !== 'completed') return record
  const stub = conversationStub(context, conversation)
  const { messages } = unwrapReply(await stub.messages({ limit: 3, fullResults: true }))
  const content = messages.find(({ fullResult }) => fullResult)?.fullResult
  const limit = Math.min(definition?.maxResultBytes ?? Infinity, context.setup.config.limits.resultBytes)
  const outcome = content && truncateOutcome({ ok: true, content }, limit)
  return outcome?.ok ? { ...record, calls: [{ ...call, content: outcome.content }] } : record
}

const TASK_ID = /^(?:[a-z-]+__)?task_[A-Za-z0-9]{22}$/
const UNKNOWN_TASK = mcpFault(INVALID_PARAMS, 'There is no such task.')

/**
 * Returns what a call that waits for a person asks this client for; undefined if it may not answer. A task never uses a
 * key twice, but a tool may ask by one name again: the keys are the names and when this wait ends.
 */
async function requestsOf(
  call: CallRecord,
  { id, record }: Pick<McpTask, 'id' | 'record'>,
  context: EdgeContext,
  message: McpMessage,
): Promise<Readonly<Record<string, InputRequest>> | undefined> {
  if (!mayApprove(context, message)) return undefined
  const { approval } = unwrapReply(await conversationStub(context, id).approval(record.id, call.id))
  const requests = Object.entries(approval.input?.requests ?? approvalOf(call).requests)
  if (!requests.every(([, request]) => isElicitation(request))) return undefined
  return Object.fromEntries(requests.map(([name, request]) => [`${name}.${approval.expires.toString(36)}`, request]))
}

/** Returns the name by which the tool asked, of the key of a request. */
function nameOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('.'))
}

/** How long `tasks/result` waits for the end of a task, in milliseconds. */
const MOST_WAIT_MS = 600_000

/** `tasks/result` of 2025-11-25: the result of the call, as soon as there is one. */
async function resultOfTask(task: McpTask, context: RequestContext, message: McpMessage): Promise<object> {
  const { id, record } = task
  let current: McpTask | McpFault = task
  if (!isTerminal(record.status)) {
    const { signal } = context.request
    await followToEnd(context, { runId: record.id, conversation: id }, { ms: MOST_WAIT_MS, signal, news: 'end' })
    signal.throwIfAborted()
    current = await readTask(id, context, { message, needsResult: true })
  }
  if (isFault(current)) return current
  if (!isTerminal(current.record.status)) return mcpFault(INVALID_PARAMS, 'The task has no result yet: ask again.')
  return statusOf(current) === 'completed'
    ? toTaskResult(current, false)
    : { status: 200, error: faultOf(current.record) }
}

/**
 * `tasks/update`: passes on what people have answered, once there is an answer to all that the task asks for. Answers to
 * what is not asked are left out.
 */
async function updateTask({ id, record, requests = {} }: McpTask, context: RequestContext, { params }: McpMessage) {
  const [call] = record.calls
  const answers = Object.entries(readInput(params).responses).filter(([key]) => Object.hasOwn(requests, key))
  if (!call || answers.length === 0 || answers.length < Object.keys(requests).length) return {}
  requireScope(context.caller, 'approve')
  const stub = conversationStub(context, id)
  const { approval } = unwrapReply(await stub.approval(record.id, call.id))
  const isRefused = answers.some(([, { action }]) => action !== 'accept')
  const input = Object.fromEntries(
    answers.map(([key, { content }]) => [nameOfKey(key), isObject(content) ? content : {}]),
  )
  const answer = signAnswer(context.caller, {
    decision: isRefused ? 'reject' : 'approve',
    ...(!isRefused && approval.input && { input }),
  })
  unwrapReply(await stub.answer(record.id, { [call.id]: answer }))
  return {}
}

/** `tasks/cancel`: cancels the run. In 2025-11-25 it answers with the task, and with an error for one that has ended. */
async function cancelTask(task: McpTask, context: RequestContext, message: McpMessage): Promise<object> {
  const { id, record } = task
  if (!message.modern && isTerminal(record.status))
    return mcpFault(INVALID_PARAMS, `The task has ended: it is ${statusOf(task)}.`)
  unwrapReply(await conversationStub(context, id).cancel(record.id))
  if (message.modern) return {}
  const current = await readTask(id, context, { message })
  return isFault(current) ? current : toTask(current, false)
}
