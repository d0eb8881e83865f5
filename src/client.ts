/**
 * The door for callers: a small typed client over fetch, for browsers, Node and Workers.
 */
import {
  type ApproveOptions,
  type AskOptions,
  type ClientOptions,
  EdgecallError,
  type EventOf,
  follow,
  hasId,
  isPassing,
  type RecordOf,
  requestJson,
  type RunInput,
  type Send,
  sender,
} from './client/request.ts'
import type { RunSummary, StoredMessage } from './contract/conversation.ts'
import { newId } from './contract/id.ts'
import { isObject } from './contract/json.ts'
import type { Usage } from './contract/usage.ts'
import { eventId } from './wire/events.ts'

export type { JsonObject } from './contract/json.ts'
export type { CallRecord, ClientTool, RunRecord } from './contract/run.ts'
export type { InputMessage, RunOptions } from './wire/client/request.ts'
export type { ResponseFormat, ToolChoice } from './contract/model.ts'
export type { RunSummary, StoredMessage } from './contract/conversation.ts'
export type { Usage } from './contract/usage.ts'
export type { ApproveOptions, AskOptions, ClientOptions, EventOf, RecordOf, RunInput }
export { EdgecallError }

/** A client of one edge. Requests that the edge refuses throw an EdgecallError. */
export interface Client<Tool extends string = string> {
  /** Runs without a conversation. Nothing is stored, so a lost connection loses the run. */
  run(input: string | RunInput<Tool>, options?: AskOptions): Promise<RecordOf<Tool>>
  /** As `run`, event by event. */
  stream(input: string | RunInput<Tool>, options?: AskOptions): AsyncGenerator<EventOf<Tool>, void>
  /** Returns a handle to an existing conversation. Sends no request. */
  conversation(id: string): Conversation<Tool>
  /** Creates a conversation, with your own id or a generated one. An existing conversation is left unchanged. */
  createConversation(id?: string): Promise<Conversation<Tool>>
  /** Returns the ids of conversations in order, after the given one; at most 1,000. */
  listConversations(page?: { readonly after?: string; readonly limit?: number }): Promise<string[]>
}

/**
 * A conversation of the edge, with its runs and messages. Requests that the edge refuses reject with an EdgecallError.
 */
export interface Conversation<Tool extends string = string> {
  readonly id: string
  /**
   * Runs until the run ends, or waits for an approval or for a result of the caller: see its `status`. Asks again by itself
   * if the connection is lost, for the same run.
   */
  run(input: string | RunInput<Tool>, options?: AskOptions): Promise<RecordOf<Tool>>
  /** As `run`, event by event. Reconnects by itself if the connection is lost. */
  stream(input: string | RunInput<Tool>, options?: AskOptions): AsyncGenerator<EventOf<Tool>, void>
  /** Returns the events of a run as `stream` does, from the start or after the event with that `seq`. */
  resume(
    runId: string,
    options?: { readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncGenerator<EventOf<Tool>, void>
  record(runId: string): Promise<RecordOf<Tool>>
  /** Approves the call, by default with the model's arguments. If they are changed, the model is told. */
  approve(runId: string, callId: string, options?: ApproveOptions): Promise<RecordOf<Tool>>
  /** Rejects the call. The model is told the reason. */
  reject(runId: string, callId: string, reason?: string): Promise<RecordOf<Tool>>
  /** Gives the result of a call that the caller runs: a string, or a value that is sent as JSON. */
  giveResult(runId: string, callId: string, result: unknown, ok?: boolean): Promise<RecordOf<Tool>>
  cancel(runId: string): Promise<'cancelled' | 'already_terminal'>
  /** Tries a parked run again. */
  retry(runId: string): Promise<RecordOf<Tool>>
  messages(page?: { readonly before?: number; readonly limit?: number }): Promise<StoredMessage[]>
  runs(page?: { readonly before?: string; readonly limit?: number }): Promise<RunSummary[]>
  usage(): Promise<Usage & { readonly runs: number }>
  delete(): Promise<void>
}

/**
 * Creates a client of the edge at `url`. Name your tools to type calls and events:
 * `createClient<'clock' | 'weather'>({ url, key })`. The command `types` generates that type from an edge.
 */
export function createClient<Tool extends string = string>(options: ClientOptions): Client<Tool> {
  const send = sender(options)
  const conversation = (id: string) => conversationOf<Tool>(send, id)
  return {
    run: async (input, { signal, idempotencyKey } = {}) => {
      const headers = idempotencyHeader(idempotencyKey)
      return requestJson(send, '/runs', hasId, { json: bodyOf(input), headers, signal })
    },
    stream: (input, { signal, idempotencyKey } = {}) => {
      const headers = { ...EVENTS, ...idempotencyHeader(idempotencyKey) }
      const open = () => send('/runs', { json: bodyOf(input), headers, signal })
      return follow<Tool>(open, { mayReopen: false, signal })
    },
    conversation,
    createConversation: async (chosenId) => {
      const { id } = await requestJson<{ id: string }>(send, '/conversations', hasId, { json: { id: chosenId } })
      return conversation(id)
    },
    listConversations: async (page) => {
      const entries = await requestJson<{ id: string }[]>(send, `/conversations${query(page)}`, areWithId)
      return entries.map((each) => each.id)
    },
  }
}

function conversationOf<Tool extends string>(send: Send, id: string): Conversation<Tool> {
  const path = `/conversations/${encodeURIComponent(id)}`
  const pathOf = (runId: string) => `${path}/runs/${encodeURIComponent(runId)}`
  const record = (runId: string) => requestJson<RecordOf<Tool>>(send, pathOf(runId), hasId)
  const answer = (runId: string, callId: string, json: object) =>
    requestJson<RecordOf<Tool>>(send, `${pathOf(runId)}/calls/${encodeURIComponent(callId)}`, hasId, { json })
  const eventsAfter = (runId: string, after: number, signal: AbortSignal | undefined) =>
    send(`${pathOf(runId)}/events`, { headers: { 'last-event-id': eventId(runId, after) }, signal })

  const resume: Conversation<Tool>['resume'] = (runId, { after = 0, signal } = {}) =>
    follow<Tool>((last) => eventsAfter(runId, last?.seq ?? after, signal), { mayReopen: true, signal })

  const stream: Conversation<Tool>['stream'] = (input, { signal, idempotencyKey = newId('key') } = {}) => {
    // With the key, the request can be sent again when it is not known whether it arrived.
    const headers = { ...EVENTS, ...idempotencyHeader(idempotencyKey) }
    const open = () => send(`${path}/runs`, { json: bodyOf(input), headers, signal })
    return follow<Tool>((last) => (last ? eventsAfter(last.runId, last.seq, signal) : open()), {
      mayReopen: true,
      signal,
    })
  }

  return {
    id,
    run: async (input, { signal, idempotencyKey = newId('key') } = {}) => {
      try {
        const headers = idempotencyHeader(idempotencyKey)
        return await requestJson(send, `${path}/runs`, hasId, { json: bodyOf(input), headers, signal })
      } catch (error) {
        if (!(error instanceof EdgecallError)) throw error
        let runId = error.code === 'wait_elapsed' ? error.runId : undefined
        if (runId === undefined && !isPassing(error)) throw error
        // The same key finds the run, which may have been started.
        const events = runId === undefined ? stream(input, { signal, idempotencyKey }) : resume(runId, { signal })
        for await (const event of events) runId = event.runId
        return requireSuccess(await record(runId ?? ''))
      }
    },
    stream,
    resume,
    record,
    approve: (runId, callId, options) => answer(runId, callId, { ...options, decision: 'approve' }),
    reject: (runId, callId, reason) => answer(runId, callId, { decision: 'reject', reason }),
    giveResult: (runId, callId, result, ok) => answer(runId, callId, { result: result ?? null, ok }),
    cancel: async (runId) => {
      const at = `${pathOf(runId)}/cancel`
      const reply = await requestJson<CancelReply>(send, at, isCancelled, { method: 'POST' })
      return reply.status
    },
    retry: (runId) => requestJson(send, `${pathOf(runId)}/retry`, hasId, { method: 'POST' }),
    messages: (page) => requestJson(send, `${path}/messages${query(page)}`, Array.isArray),
    runs: (page) => requestJson(send, `${path}/runs${query(page)}`, areWithId),
    usage: () => requestJson(send, `${path}/usage`, isObject),
    delete: async () => void (await send(path, { method: 'DELETE' })),
  }
}

/** Returns the record; throws if the run failed, as the edge does when it answers once the run has ended. */
function requireSuccess<Tool extends string>(record: RecordOf<Tool>): RecordOf<Tool> {
  const { id: runId, status, finish, error } = record
  if (status !== 'failed' || finish !== 'error') return record
  const { code = 'run_failed', message = 'The run failed.', retryAfterMs } = error ?? {}
  throw new EdgecallError(message, { code, runId, retryAfterMs })
}

const EVENTS = { accept: 'text/event-stream' }

function idempotencyHeader(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { 'idempotency-key': key }
}

function bodyOf<Tool extends string>(input: string | RunInput<Tool>): object {
  return typeof input === 'string' ? { input } : input
}

function query(page: object = {}): string {
  const params = Object.entries(page).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  const text = new URLSearchParams(params).toString()
  return text && `?${text}`
}

interface CancelReply {
  readonly status: 'cancelled' | 'already_terminal'
}

function isCancelled(value: unknown): boolean {
  return isObject(value) && typeof value['status'] === 'string'
}

function areWithId(value: unknown): boolean {
  return Array.isArray(value) && value.every(hasId)
}
