import { termsOfCaller } from '../../contract/caller-terms.ts'
import { deriveRunId, newId } from '../../contract/id.ts'
import type { InputRequest } from '../../contract/input.ts'
import { isObject, type JsonObject } from '../../contract/json.ts'
import { ALL_CAPABILITIES, type ModelEvent, type ModelProvider } from '../../contract/model.ts'
import { TASK_MODEL, TASK_PROVIDER, type TaskCall, taskCallOf } from '../../contract/mcp-task.ts'
import { idIn } from '../../contract/placement.ts'
import type { Content } from '../../contract/message.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Tool } from '../../contract/tool.ts'
import { truncateOutcome } from '../../host/truncate.ts'
import { pause } from '../../contract/time-limit.ts'
import { type CallRecord, isTerminal } from '../../contract/run.ts'
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
import { startInConversation } from '../runs/start-run.ts'
import { requireBytes } from '../runs/storage-quota.ts'
import { approvalOf, mayApprove } from './mcp-questions.ts'
import { mcpTools } from './mcp-relay.ts'

/*
 * A task of MCP is a run that makes one call, in a conversation of its own that no list has: so it is stored, waits for an
 * outcome that comes later or for a person, and is cancelled as any run is. No model is asked; the function below
 * answers in the place of one.
 */

/** How long a task can be asked for: a call waits for its outcome for seven days at most. */
const TTL_MS = 8 * 24 * 60 * 60 * 1000

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
    if (messages.at(-1)?.role === 'tool') return yield { type: 'finish', finish: 'stop' }
    yield { type: 'call', index: 0, ...call }
    yield { type: 'finish', finish: 'tool_calls' }
  },
})

/** Starts a call as a task. Returns the result of the request, once the task is stored. */
export async function startTask(
  { modern }: McpMessage,
  context: RequestContext,
  tool: Tool,
  { arguments: args, context: values }: { readonly arguments: JsonObject; readonly context?: JsonObject | undefined },
): Promise<object> {
  const { setup, caller, request } = context
  requireBytes(context)
  const call: TaskCall = { tool: tool.definition.name, arguments: JSON.stringify(args) }
  const key = request.headers.get('idempotency-key')
  const runId = key === null ? newId('run') : await deriveRunId(caller.tenant, 'tasks', key)
  const id = idIn(termsOfCaller(setup, caller)?.jurisdiction, runId.replace(/^run/, 'task'))
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
  const task = { run: { ...run, providerOptions: { [TASK_PROVIDER]: { ...call } } }, tools: [tool] }
  await startInConversation(context, task, { id, onBusy: 'queue', create: true, expires: Date.now() + TTL_MS })
  const created = await readTask(id, context)
  return isFault(created) ? created : toCreatedTask(created, modern)
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
  const content =
    needsResult && record.status === 'completed' ? await cutResult(id, context, tool?.definition) : undefined
  const clientRecord = call && content ? { ...record, calls: [{ ...call, content }] } : record
  const { created, ended } = summary
  return { id, record: clientRecord, created, ended, ttlMs: TTL_MS, definition: tool?.definition, requests }
}

/**
 * Returns a result over the limit, cut for a client, to whom the note for models, who can read on, is of no use; undefined
 * for one within the limit.
 */
async function cutResult(
  id: string,
  context: EdgeContext,
  { maxResultBytes = Infinity }: Pick<ToolDefinition, 'maxResultBytes'> = {},
): Promise<readonly Content[] | undefined> {
  const { messages } = unwrapReply(await conversationStub(context, id).messages({ limit: 3, fullResults: true }))
  const content = messages.find(({ fullResult }) => fullResult)?.fullResult
  const limit = Math.min(maxResultBytes, context.setup.config.limits.resultBytes)
  const outcome = content && truncateOutcome({ ok: true, content }, limit)
  return outcome?.ok ? outcome.content : undefined
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

/** How long `tasks/result` waits for the end of a task, and how often it looks, in milliseconds. */
const MOST_WAIT_MS = 600_000
const LOOK_MS = 500

/** `tasks/result` of 2025-11-25: the result of the call, as soon as there is one. */
async function resultOfTask(task: McpTask, context: RequestContext, message: McpMessage): Promise<object> {
  const until = Date.now() + MOST_WAIT_MS
  let current: McpTask | McpFault = task
  while (!isFault(current) && !isTerminal(current.record.status)) {
    if (Date.now() > until) return mcpFault(INVALID_PARAMS, 'The task has no result yet: ask again.')
    await pause(LOOK_MS, context.request.signal)
    context.request.signal.throwIfAborted()
    current = await readTask(task.id, context, { message, needsResult: true })
  }
  if (isFault(current)) return current
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
