import { FIRST_WATCH_MS } from './schedule.ts'
import { reachedActivity } from '../../contract/occupancy.ts'
import type { Setup } from '../../contract/setup.ts'
import type { Refusal, StartReply, StartRequest, Repeat } from '../../contract/conversation.ts'
import { waitsBelow, type RunRequest } from '../../contract/run.ts'
import { recordOf } from '../../loop/record.ts'
import { isAtRest, type OpenRun } from './open-runs.ts'
import { refusalOf, refuseQuota, UNKNOWN_RUN } from './cancel-run.ts'
import type { Runner } from './runner.ts'
import type { Store } from '../store/store.ts'
import type { Alarms } from './alarms.ts'
import { acceptRequest } from '../../contract/hook.ts'
import { lowerLimits } from '../../contract/limits.ts'
import { shardOf } from '../../contract/placement.ts'
import type { StoredRun } from '../store/runs.ts'

export interface AcceptPorts {
  readonly store: Store
  readonly runner: Runner
  readonly alarms: Alarms
  readonly setup: Pick<Setup, 'config' | 'isolate'>
}

type RunReply = Omit<StartReply, 'created'>

/** The answer to a request for a run. `toCancel`: the unfinished runs that the new run interrupts. */
type AcceptReply = { readonly ok: true; readonly reply: RunReply; readonly toCancel?: readonly string[] } | Refusal

/** Accepts a request durably: as a new run, as a replay of a known one, or as more input for the current run. */
export function acceptRun(request: StartRequest, ports: AcceptPorts): AcceptReply {
  const { store, runner, alarms, setup } = ports
  const { run, tools, onBusy, expires, replaces, onward = false, after } = request
  const knownReply = replayOf(request, store) ?? (onBusy === 'steer' ? join(request, ports) : undefined)
  if (knownReply) return knownReply
  const replacedRow = replaces === undefined ? undefined : store.runs.row(replaces)
  if (replaces !== undefined && !replacedRow) return UNKNOWN_RUN
  if (replacedRow && !onward && store.messages.isRetired(replacedRow.place)) {
    return refusalOf('run_replaced', 'This turn was already replaced; regenerate the run that replaced it.')
  }
  if (after !== undefined && store.runs.lastFor(after) !== after) {
    return refusalOf('run_not_last', 'That run is no longer the latest.')
  }
  const current = onBusy === 'interrupt-unless-waiting' ? runner.runs.current() : undefined
  if (current && isAtRest(current)) return refuseWhileWaiting(current, store)
  const unfinished = store.runs.unfinished()
  if (onBusy === 'reject' && unfinished.length > 0)
    return refusalOf('conversation_busy', 'Another run of this conversation is in progress.')
  const interrupts = onBusy === 'interrupt' || onBusy === 'interrupt-unless-waiting'
  if (!interrupts && unfinished.length > setup.config.maxQueue) {
    return refusalOf('queue_full', `${unfinished.length - 1} runs of this conversation are already queued.`)
  }
  const reached = reachedActivity(setup, 'concurrentRuns', run.caller)
  if (reached) return refuseQuota(reached)
  const stored = store.transaction(() => {
    const added = store.runs.add(run, tools, Date.now())
    // Throws if the table of events is damaged: the run could not begin, and its caller would wait for it.
    store.runs.lastNumber(run.runId)
    if (expires !== undefined) store.setMeta('expires', expires)
    if (replacedRow) store.retire(replacedRow.place, { onward, by: added.place })
    alarms.touch()
    return added
  })
  if (unfinished.length === 0) runner.runs.adopt(stored)
  alarms.watch(unfinished.length === 0 ? FIRST_WATCH_MS : undefined)
  const isQueued = unfinished.length > 0 && !interrupts
  const reply = { runId: run.runId, status: isQueued ? 'queued' : 'running', replayed: false } as const
  return { ok: true, reply, ...(interrupts && { toCancel: unfinished }) }
}

/** Refuses a request with `interrupt-unless-waiting`, because the current run waits for others. */
function refuseWhileWaiting({ state, stored: { id, request } }: OpenRun, { children }: Store): Refusal {
  const run = children.describe(recordOf(state))
  const url = `/conversations/${request.conversation}/runs/${id}`
  const own = run.calls.filter(({ status }) => status === 'approval' || status === 'caller')
  const calls = [...own, ...waitsBelow(run).map(({ call, tool }) => ({ id: call, tool }))]
  const openCalls = calls.map((call) => `"${call.tool}" (POST ${url}/calls/${call.id})`)
  const remedy = openCalls.length > 0 ? `answer ${openCalls.join(' and ')}` : 'let its tools answer'
  const message = `The run ${id} is waiting: ${remedy}, or POST ${url}/cancel, then send this request again.`
  return { ...refusalOf('run_waiting', message), run }
}

/** Answers a request whose Idempotency-Key was used before; undefined if it was not. */
function replayOf({ run }: StartRequest, store: Store): AcceptReply | undefined {
  const { runId, fingerprint } = run
  // A request without the key is sent again by the edge, if its answer was lost.
  const joinedRun = store.joinedRun(runId)
  const row = store.runs.row(joinedRun?.run ?? runId)
  if (!row) return undefined
  const fingerprintBefore = joinedRun ? joinedRun.fingerprint || undefined : store.runs.get(runId)?.request.fingerprint
  if (fingerprintBefore !== fingerprint)
    return refusalOf('idempotency_mismatch', 'This Idempotency-Key was already used with a different body.')
  return { ok: true, reply: { runId: row.id, status: row.status, replayed: true } }
}

/**
 * Adds the input to the current run. Undefined if there is none to join, or if another API key started it: the run has
 * that key's tools and trusted values, which the sender of the input may not have. Undefined also for input of no user, if
 * the run is a user's: a decision model would take it for what the user wants.
 */
function join({ run }: StartRequest, { store, runner, alarms }: AcceptPorts): AcceptReply | undefined {
  const joinResult = store.transaction(() => {
    const open = runner.joinable()
    const { caller, isFromUser } = open?.stored.request ?? {}
    if (!open || caller?.key !== run.caller.key || (isFromUser && !run.isFromUser)) return undefined
    store.setJoined(run, open.stored.id)
    alarms.touch()
    return runner.join(open, run.input)
  })
  if (!joinResult) return undefined
  const { stored, state } = joinResult.open
  return { ok: true, reply: { runId: stored.id, status: state.status, replayed: false, joinedAfter: joinResult.after } }
}

/**
 * Builds the request that repeats an earlier run, perhaps for another caller: with that caller's trusted values, under
 * the edge's current rules, and with the current definitions of the run's tools, as far as that caller may know of them.
 * Returns a refusal if a hook of the edge refuses a request that a copy brought.
 */
export async function repeatedRequest(
  setup: Setup,
  { request: original, tools: offered }: StoredRun,
  repeat: Repeat,
): Promise<Pick<StartRequest, 'run' | 'tools'> | Refusal> {
  const { fingerprint: _fingerprint, budget: _budget, trusted: _trusted, chosenAt: _chosenAt, ...terms } = original
  const { taintRule: _taintRule, trace: _trace, shard: _shard, agent: _agent, ...others } = terms
  const { isFromUser: _user, callerHistory: _history, isFromCopy, ...request } = others
  const { taintRule, pinnedContext, directoryShards, limits } = setup.config
  const shard = shardOf(request.conversation ?? repeat.runId, directoryShards)
  const trusted = setup.trusted?.(repeat.caller)
  const names = offered.map(({ name }) => name)
  const tools = names.length === 0 ? [] : await setup.tools(repeat.caller).find(names)
  const byName = new Map(tools.map(({ definition }) => [definition.name, definition]))
  const run: RunRequest = {
    ...request,
    context: { ...request.context, ...pinnedContext },
    limits: lowerLimits(limits, request.limits),
    ...(!taintRule && { taintRule }),
    ...repeat,
    ...(trusted && { trusted }),
    ...(shard > 0 && { shard }),
  }
  const acceptedRun = isFromCopy ? await acceptRequest(setup.loop?.hooks, withSystem(setup, run)) : run
  if ('refusal' in acceptedRun) return refusalOf('refused', acceptedRun.refusal)
  return { run: acceptedRun, tools: JSON.stringify(names.flatMap((name) => byName.get(name) ?? [])) }
}

/** Adds the system text of the edge to a request that a copy brought, as to each. */
function withSystem({ config: { system: first = '' } }: Setup, request: RunRequest): RunRequest {
  const { system = '' } = request
  const text = system.startsWith(first) ? system : `${first}\n\n${system}`
  return { ...request, ...(text !== '' && { system: text }) }
}
