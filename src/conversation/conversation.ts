import { DurableObject } from 'cloudflare:workers'
import type {
  CallAnswer,
  ConversationService,
  Refusal,
  Reply,
  RunSummary,
  StartReply,
  StartRequest,
  StoredMessage,
} from '../contract/conversation.ts'
import type { CallSettled, RunFact } from '../contract/event.ts'
import type { Usage } from '../contract/usage.ts'
import { isTerminal, type RunRecord, type RunRequest } from '../contract/run.ts'
import type { MakeSetup, Setup } from '../contract/setup.ts'
import type { CallState } from '../loop/state.ts'
import { Readers } from './readers.ts'
import { Runner } from './runner.ts'
import { Store, type StoredRun } from './store.ts'

/** While a run is under way the object is woken this often, so that a lost run goes on with no request from anyone. */
const WATCHDOG_MS = 10_000

/** The Durable Object of one conversation. Its methods are its RPC surface. */
export abstract class ConversationObject<Env> extends DurableObject<Env> implements ConversationService {
  readonly #setup: Setup
  readonly #store: Store
  readonly #readers = new Readers()
  readonly #runner: Runner

  constructor(ctx: DurableObjectState, env: Env, setup: Setup) {
    super(ctx, env)
    this.#setup = setup
    this.#store = new Store(ctx.storage)
    this.#runner = new Runner({
      setup,
      store: this.#store,
      readers: this.#readers,
      now: () => Date.now(),
      wakeAt: (time) => void ctx.storage.setAlarm(time),
    })
    // Whoever wakes the object, what a lost life of it left goes on.
    if (this.#store.life() === 'open') this.#runner.pump()
  }

  async create(): Promise<Reply<{ created: boolean }>> {
    const life = this.#store.life()
    if (life === 'deleted') return DELETED
    if (life === 'none') this.#store.make()
    return { ok: true, created: life === 'none' }
  }

  async start({ run, tools, onBusy, create, expires }: StartRequest): Promise<Reply<StartReply>> {
    const life = this.#store.life()
    if (life === 'deleted') return DELETED
    if (life === 'none' && !create) return UNKNOWN
    if (life === 'none') this.#store.make()
    const known = this.#store.run(run.runId)
    if (known) return replay(known, run)
    const unfinished = this.#store.unfinished()
    if (onBusy === 'reject' && unfinished > 0)
      return refuse('conversation_busy', 'A run of this conversation is under way.')
    if (onBusy !== 'interrupt' && unfinished > this.#setup.config.maxQueue) {
      return refuse('queue_full', `${unfinished - 1} runs of this conversation are waiting for their turn.`)
    }
    this.#store.transaction(() => {
      this.#store.accept(run, tools, Date.now())
      if (expires !== undefined) this.#store.setExpires(expires)
    })
    await this.ctx.storage.setAlarm(Date.now() + WATCHDOG_MS)
    if (onBusy === 'interrupt') await this.#interrupt(run.runId)
    this.#runner.pump()
    const status = unfinished > 0 && onBusy !== 'interrupt' ? 'queued' : 'running'
    return { ok: true, runId: run.runId, status, created: life === 'none', replayed: false }
  }

  async record(runId: string, waitMs: number): Promise<Reply<{ record: RunRecord }>> {
    return this.#whenOpen(async () => {
      const record = await this.#runner.record(runId, waitMs)
      return record ? { ok: true, record } : UNKNOWN_RUN
    })
  }

  async events(runId: string, after: number): Promise<Reply<{ stream: ReadableStream<Uint8Array> }>> {
    return this.#whenOpen(async () => {
      const open = this.#runner.find(runId)
      if (!open) return UNKNOWN_RUN
      const ended = open.state.finished !== undefined || (open.state.status === 'waiting' && !open.driving)
      return { ok: true, stream: this.#readers.open(runId, open.journal, { after, ended }) }
    })
  }

  async runs(): Promise<Reply<{ runs: RunSummary[] }>> {
    return this.#whenOpen(async () => ({ ok: true, runs: this.#store.runs() }))
  }

  async messages({ before, limit }: { before?: number; limit: number }): Promise<Reply<{ messages: StoredMessage[] }>> {
    return this.#whenOpen(async () => ({
      ok: true,
      messages: this.#store.messages(before ?? Number.MAX_SAFE_INTEGER, limit),
    }))
  }

  async usage(): Promise<Reply<{ usage: Usage; runs: number }>> {
    return this.#whenOpen(async () => ({ ok: true, ...this.#store.usage() }))
  }

  async cancel(runId: string): Promise<Reply<{ status: 'cancelled' | 'already_terminal' }>> {
    return this.#whenOpen(async () => {
      const open = this.#runner.find(runId)
      if (!open) return UNKNOWN_RUN
      if (isTerminal(open.state.status)) return { ok: true, status: 'already_terminal' }
      await this.#runner.cancel(open)
      // It may have ended by itself while the cancel was on its way.
      return { ok: true, status: open.state.status === 'cancelled' ? 'cancelled' : 'already_terminal' }
    })
  }

  async answer(
    runId: string,
    answers: Readonly<Record<string, CallAnswer>>,
  ): Promise<Reply<{ record: RunRecord; after: number }>> {
    return this.#whenOpen(async () => {
      const open = this.#runner.find(runId)
      if (!open) return UNKNOWN_RUN
      const events: RunFact[] = []
      for (const [callId, answer] of Object.entries(answers)) {
        const call = open.state.calls.find((candidate) => candidate.callId === callId)
        if (!call) return refuse('unknown_call', `This run has no call "${callId}".`)
        const event = answerOf(call, answer)
        if (!event) return refuse('call_already_answered', `The call "${callId}" waits for no such answer.`)
        events.push(event)
      }
      const after = open.journal.last
      // While it waited nobody watched over it.
      void this.ctx.storage.setAlarm(Date.now() + WATCHDOG_MS)
      this.#runner.answer(open, events)
      const record = await this.#runner.record(runId, 0)
      return record ? { ok: true, record, after } : UNKNOWN_RUN
    })
  }

  async remove(): Promise<Reply<object>> {
    return this.#whenOpen(async () => {
      for (const { id, status } of this.#store.runs()) {
        const open = isTerminal(status) ? undefined : this.#runner.find(id)
        if (open) await this.#runner.cancel(open)
      }
      await this.#store.bury()
      return { ok: true }
    })
  }

  /** The watchdog: goes on with what a lost life of this object left, and comes again while there is work. */
  override async alarm(): Promise<void> {
    if (this.#store.life() !== 'open') return
    const now = Date.now()
    const expires = this.#store.expires() ?? Infinity
    const current = this.#runner.current()
    if (current?.state.status !== 'running' && expires <= now) return this.#store.forget()
    this.#runner.expire(now)
    const waitsUntil = this.#runner.waitsUntil()
    const next = current === undefined ? expires : Math.min(waitsUntil ?? now + WATCHDOG_MS, expires)
    if (Number.isFinite(next)) await this.ctx.storage.setAlarm(next)
    this.#runner.pump()
  }

  async #interrupt(runId: string): Promise<void> {
    for (const { id, status } of this.#store.runs()) {
      const open = id === runId || isTerminal(status) ? undefined : this.#runner.find(id)
      if (open) await this.#runner.cancel(open)
    }
  }

  async #whenOpen<Value>(answer: () => Promise<Reply<Value>>): Promise<Reply<Value>> {
    const life = this.#store.life()
    if (life === 'deleted') return DELETED
    return life === 'none' ? UNKNOWN : answer()
  }
}

/** The class to export: `export class Conversation extends conversation(setup) {}`. */
export function conversation<Env>(
  makeSetup: MakeSetup<Env>,
): new (ctx: DurableObjectState, env: Env) => ConversationObject<Env> {
  return class extends ConversationObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, makeSetup(env))
    }
  }
}

function replay({ id, status, request }: StoredRun, { fingerprint }: RunRequest): Reply<StartReply> {
  if (request.fingerprint === fingerprint) return { ok: true, runId: id, status, created: false, replayed: true }
  return refuse('idempotency_mismatch', 'This Idempotency-Key came with another body before.')
}

function answerOf(call: CallState, answer: CallAnswer): RunFact | undefined {
  const { callId, tool } = call
  if ('decision' in answer) {
    return call.status === 'asked' ? { type: 'approval.decided', callId, ...answer } : undefined
  }
  if (call.status !== 'handed') return undefined
  const settled = { type: 'call.settled', callId, tool, durationMs: 0 } as const
  const said: CallSettled = answer.ok
    ? { ...settled, ok: true, content: [{ type: 'text', text: answer.result }] }
    : { ...settled, ok: false, error: { code: 'tool_failed', message: answer.result } }
  return said
}

function refuse(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message }
}

const UNKNOWN = refuse('unknown_conversation', 'There is no such conversation.')
const DELETED = refuse('conversation_deleted', 'This conversation was deleted.')
const UNKNOWN_RUN = refuse('unknown_run', 'This conversation has no such run.')
