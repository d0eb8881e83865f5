import { isObject } from '../../../contract/json.ts'
import type { InputRequest } from '../../../contract/input.ts'
import type { CallRecord, RunRecord } from '../../../contract/run.ts'
import type { ToolDefinition } from '../../../contract/tool-definition.ts'
import { failure, type ToolOutcome } from '../../../contract/tool.ts'
import { fieldsOf } from '../../fields.ts'
import { CLIENT_CAPABILITIES, INTERNAL_ERROR, type McpMessage } from './message.ts'
import { toCallResult } from './tool.ts'

/** The extension of the newest revision by which tools answer later. In 2025-11-25, tasks are a part of the protocol. */
export const TASKS = 'io.modelcontextprotocol/tasks'
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** A call that was made as a task. */
export interface McpTask {
  readonly id: string
  /** The record of the run that makes the call. */
  readonly record: RunRecord
  /** Epoch milliseconds, like `ended`. */
  readonly created: number
  readonly ended?: number | undefined
  readonly ttlMs: number
  /** The tool, if the edge has it still. */
  readonly definition?: ToolDefinition | undefined
  /** What the call asks the client for; absent if it asks for nothing, or not this client. */
  readonly requests?: Readonly<Record<string, InputRequest>> | undefined
}

/** How often a client should ask for a task, in milliseconds. */
const POLL_MS = 1000

/** Whether a client can be answered with a task: it has declared the extension or, in 2025-11-25, wants a task. */
export function takesTasks({ modern, meta, params }: McpMessage): boolean {
  if (!modern) return isObject(params['task'])
  return TASKS in fieldsOf(fieldsOf(meta[CLIENT_CAPABILITIES])['extensions'])
}

/** Converts a task to the result of the request that has made it. */
export function toCreatedTask(task: McpTask, modern: boolean): object {
  const { result: _, error: _error, inputRequests: _requests, ...fields } = toTask(task, modern)
  return modern ? { resultType: 'task', ...fields } : { task: fields }
}

/** Converts a task to the result of `tasks/get`; in the newest revision with the result of its call. */
export function toTask(task: McpTask, modern: boolean): Readonly<Record<string, unknown>> {
  const { id, record, created, ended = created, ttlMs, requests } = task
  const status = statusOf(task)
  const statusMessage = status === 'working' ? waitText(record) : record.error?.message
  const isoTime = (at: number) => new Date(at).toISOString()
  return {
    taskId: id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: isoTime(created),
    lastUpdatedAt: isoTime(ended),
    ...(modern ? { ttlMs, pollIntervalMs: POLL_MS } : { ttl: ttlMs, pollInterval: POLL_MS }),
    ...(modern && {
      ...(status === 'completed' && { result: toTaskResult(task, true) }),
      ...(status === 'failed' && { error: faultOf(record) }),
      ...(status === 'input_required' && { inputRequests: requests }),
    }),
  }
}

/** Converts the outcome of a task's call to the result of `tools/call`. */
export function toTaskResult({ id, record, definition }: McpTask, modern: boolean): object {
  const result = toSettledResult({ record, definition }, modern)
  return modern
    ? result
    : { ...result, _meta: { ...fieldsOf(fieldsOf(result)['_meta']), [RELATED_TASK]: { taskId: id } } }
}

/** Converts what the call of a run came to, or why the run has failed, to the result of `tools/call`. */
export function toSettledResult(
  { record, definition }: Pick<McpTask, 'record' | 'definition'>,
  modern: boolean,
): object {
  const [call] = record.calls
  const status = statusOf({ record })
  const reason = status === 'cancelled' ? 'Somebody has cancelled this call.' : faultOf(record).message
  const outcome = status === 'completed' ? outcomeOf(call, record) : failure('run_failed', reason)
  return toCallResult(outcome, definition ?? {}, modern)
}

/** Converts the failure of a task's run to an error of JSON-RPC. */
export function faultOf({ status, error }: RunRecord): { readonly code: number; readonly message: string } {
  const message = status === 'cancelled' ? 'The task was cancelled.' : (error?.message ?? 'The call was not made.')
  return { code: INTERNAL_ERROR, message }
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** Returns how a task stands. A call that failed has completed: its result says what is wrong. */
export function statusOf({ record, requests }: Pick<McpTask, 'record' | 'requests'>): TaskStatus {
  const { status, calls } = record
  if (status === 'failed' || status === 'cancelled') return status
  if (status === 'completed') return calls[0]?.status === 'settled' ? 'completed' : 'failed'
  return requests ? 'input_required' : 'working'
}

function waitText({ status, waitsFor }: RunRecord): string | undefined {
  if (status !== 'waiting') return undefined
  return waitsFor === 'approval' ? 'The call waits for a person.' : 'The tool answers later.'
}

function outcomeOf(call: CallRecord | undefined, { isPartial }: RunRecord): ToolOutcome {
  if (!call || isPartial) return { ok: false, error: { code: 'result_too_large', message: TOO_LARGE } }
  const { ok, content = [], structured, metadata, error } = call
  if (ok !== true) return { ok: false, error: error ?? { code: 'tool_failed', message: 'The call failed.' } }
  return { ok, content, ...(structured !== undefined && { structured }), metadata }
}

const TOO_LARGE = 'The result is too large for a task.'
