import { mostResultBytes } from '../../contract/limits.ts'
import type { ToolCall } from '../../contract/message.ts'
import { MOST_PROGRAMS } from '../../contract/program.ts'
import { pause } from '../../contract/time-limit.ts'
import type { Tool } from '../../contract/tool.ts'
import { admitEarly, groupSize } from '../decide/admit.ts'
import { targetOf } from '../decide/call-counts.ts'
import { callTool, isTimeout, nextAttempt } from './call-tool.ts'
import { isGuardedBySetup } from './hooks.ts'
import { lookForOutcome, recordOutcome, withToldCalls } from './record-outcome.ts'
import { AFTER_DEADLINE_MS, mayRepeat } from '../recover.ts'
import { awaitFence } from './recover-calls.ts'
import type { Running } from '../running.ts'
import { type CallState, findCall, idempotencyKey } from '../state.ts'

/**
 * Runs the calls of a step, side by side up to the run's limit. A call is recorded as started before its request is
 * sent, and its outcome as soon as it is known. After an abort no further call starts.
 */
export async function runCalls(running: Running, calls: readonly CallState[]): Promise<void> {
  const { state, tools, scheduled, listeners } = running
  for (const { callId } of calls) scheduled.add(callId)
  await inPool(calls, {
    size: state.request.limits.concurrentCalls,
    groupOf: (call) => groupOf(running, call),
    takesNoPlace: (call) => tools.get(call.tool)?.makesCalls === true,
    work: (call, add) =>
      performCall(running, call, add).finally(() => {
        scheduled.delete(call.callId)
        for (const listener of listeners) listener()
      }),
  })
}

async function performCall(running: Running, call: CallState, add: (call: CallState) => void): Promise<void> {
  const { tools, loop, signal, flush, inFlight } = running
  const tool = tools.get(call.tool)
  const feature = loop.features?.find(({ performs }) => tool && performs?.(tool))
  if (call.status === 'started') {
    flush()
    await (inFlight.get(idempotencyKey(call)) ?? runRecovered(running, call))
  } else if (call.status === 'deferred') await lookForOutcome(running, call)
  else if (signal.aborted) return
  else if (feature?.perform) await feature.perform(running, call, add)
  else await runCall(running, call)
}

/** Sends a call again that was in flight when its instance was lost, if it turns out that it may be. */
async function runRecovered(running: Running, call: CallState): Promise<void> {
  await awaitFence(running, call)
  const current = findCall(running.state, call.callId)
  // Left open, it is sent in the next invocation.
  if (current?.status === 'approved' && !running.signal.aborted && running.subrequestsLeft() > 0)
    await runCall(running, current)
}

/** Runs one call. `early`: it starts before the model's answer is complete, so the record includes its arguments. */
async function runCall(running: Running, call: CallState, early = false): Promise<void> {
  const { state, tools, signal, commit, flush, now, journal } = running
  const { callId, tool, arguments: text, parent } = call
  const next = nextAttempt(running, call)
  const { attempt, startedAt, deadline } = next
  const ownFields = { ...(early && { arguments: text }), parent }
  const source = sourceOf(tools.get(tool))
  const children = tools.get(tool)?.startsRuns && running.children
  const agent = children ? ({ isAgent: true } as const) : {}
  commit([{ type: 'call.started', callId, tool, attempt, at: startedAt, deadline, ...ownFields, ...source, ...agent }])
  // Calls that start together are recorded together.
  await Promise.resolve()
  flush()
  const mayBeLater = state.request.durable && state.offered.get(tool)?.later
  const outcome = await callTool(running, call, next, {
    resultBytes: mostResultBytes(state.request.limits.concurrentCalls),
    progress: (news) => journal.show({ type: 'call.progress', callId, ...news }),
    // The outcome of an attempt that was repeated is not waited for any more.
    onLate: (lateOutcome) => {
      if (!findOpenCall(running, call))
        journal.storeLateOutcome(callId, withToldCalls(running, call, lateOutcome), tool)
    },
    reportTo: mayBeLater ? await running.reportTo?.(callId) : undefined,
    startRun: children && ((start) => children.start(call, start)),
  })
  if (isTimeout(outcome) && (await mayResend(running, { ...call, attempt }))) {
    const openCall = findOpenCall(running, call)
    if (openCall) return resend(running, openCall)
  }
  const openCall = findOpenCall(running, call)
  if (openCall) recordOutcome(running, openCall, outcome, now() - startedAt)
  // The complete answer does not contain this call, or it was settled when the run ended.
  else if (!signal.aborted) journal.storeLateOutcome(callId, outcome, tool)
}

/** Returns what operators are shown of the source of a tool. */
export function sourceOf(tool: Tool | undefined): { readonly place?: string; readonly version?: string } {
  return tool ? { place: tool.place, version: tool.definition.version } : {}
}

/** Whether a call that timed out may be sent again. Resolves when it is time to. */
async function mayResend({ state, signal, now, subrequestsLeft }: Running, call: CallState): Promise<boolean> {
  if (signal.aborted || !mayRepeat(state, call) || now() + AFTER_DEADLINE_MS >= state.deadline) return false
  // No other invocation continues a run that is not stored.
  if (!state.request.durable && subrequestsLeft() <= 0) return false
  await pause(AFTER_DEADLINE_MS, signal)
  return !signal.aborted
}

function resend(running: Running, call: CallState): Promise<void> {
  const { callId, tool } = call
  running.commit([{ type: 'call.interrupted', callId, tool, because: 'timeout' }])
  // Left open, it is sent in the next invocation.
  return running.subrequestsLeft() > 0 ? runCall(running, call) : Promise.resolve()
}

/**
 * Finds the call in its current state, if it is still open. A call that started early may have another id and place in
 * the complete answer; it keeps its key.
 */
export function findOpenCall({ state }: Running, call: CallState): CallState | undefined {
  const started = state.step?.started.get(idempotencyKey(call))
  return started && started.tool === call.tool && started.arguments === call.arguments ? started : undefined
}

/** Returns the concurrency group of a call, if it has one. */
function groupOf({ state, tools }: Running, { tool }: Pick<CallState, 'tool'>): Group | undefined {
  if (tools.get(tool)?.makesCalls) return { name: 'programs', size: MOST_PROGRAMS }
  const { exclusive } = state.offered.get(tool) ?? {}
  const size = groupSize(state, tool)
  if (size === undefined) return undefined
  return { name: typeof exclusive === 'string' ? `group:${exclusive}` : `tool:${targetOf(state, tool)}`, size }
}

/** A group of items, of which at most `size` may be worked on at once, from 1. */
interface Group {
  readonly name: string
  readonly size: number
}

interface PoolOptions<Item> {
  /** The most items to work on at once, from 1. */
  readonly size: number
  readonly groupOf: (item: Item) => Group | undefined
  /** Whether an item takes no place in the pool, since it waits for others that it adds. Default: every item takes one. */
  readonly takesNoPlace?: (item: Item) => boolean
  /**
   * Works on an item; `add` adds another one to the pool. Contract: after a rejection no further item starts, and the pool
   * rejects once the running ones have settled.
   */
  readonly work: (item: Item, add: (item: Item) => void) => Promise<void>
}

/** Items that wait for the same: those of a group, or of none, which take this many places in the pool: one or none. */
interface Lane<Item> {
  readonly group: Group | undefined
  readonly places: number
  readonly waiting: { readonly order: number; readonly item: Item }[]
}

/** Works on all items, starting each in order, as early as the limits of the pool and of its group allow. */
export async function inPool<Item>(items: readonly Item[], options: PoolOptions<Item>): Promise<void> {
  const { size, groupOf, takesNoPlace = () => false, work } = options
  const lanes = new Map<string, Lane<Item>>()
  let order = 0
  const enqueue = (item: Item) => {
    const [group, places] = [groupOf(item), takesNoPlace(item) ? 0 : 1]
    const name = `${places} ${group?.name ?? ''}`
    const lane: Lane<Item> = lanes.get(name) ?? { group, places, waiting: [] }
    lanes.set(name, lane)
    lane.waiting.push({ order: (order += 1), item })
  }
  for (const item of items) enqueue(item)
  let added = Promise.withResolvers<void>()
  const add = (item: Item) => {
    enqueue(item)
    added.resolve()
  }
  const activeCounts = new Map<string, number>()
  const isFree = (group: Group | undefined) => {
    const count = group && activeCounts.get(group.name)
    // One item of a group may always run; otherwise a group of size 0 would never finish.
    return !group || !count || count < group.size
  }
  const active = new Set<Promise<void>>()
  let occupied = 0
  const firstIn = ({ waiting }: Lane<Item>) => waiting[0]?.order ?? Infinity
  /** Returns the lane of the first item that may start. */
  const nextLane = (): Lane<Item> | undefined => {
    let next: Lane<Item> | undefined
    for (const lane of lanes.values()) {
      const mayStart = firstIn(lane) < Infinity && (lane.places === 0 || occupied < size) && isFree(lane.group)
      if (mayStart && (!next || firstIn(lane) < firstIn(next))) next = lane
    }
    return next
  }
  const failures: unknown[] = []
  for (;;) {
    added = Promise.withResolvers<void>()
    for (let lane = failures.length === 0 ? nextLane() : undefined; lane; lane = nextLane()) {
      const first = lane.waiting.shift()
      if (first) active.add(track(first.item, lane))
      if (failures.length > 0) break
    }
    if (active.size === 0) break
    await Promise.race([...active, added.promise])
  }
  if (failures.length > 0) throw failures[0]

  function track(item: Item, { group, places }: Lane<Item>): Promise<void> {
    if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 0) + 1)
    occupied += places
    const task = work(item, add)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        active.delete(task)
        occupied -= places
        if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 1) - 1)
      })
    return task
  }
}

/**
 * Starts a call before the model's answer is complete, if the run wants that and the rules of calls admit it. `before`: the
 * calls before it in this answer. Which answers are left to the caller (`runsCalls`) is not known before their end.
 */
export function startEarly(running: Running, call: ToolCall, before: readonly ToolCall[]): void {
  const { state, loop, tools, signal, inFlight, children } = running
  const proposed: CallState = { ...call, status: 'proposed', attempt: 0 }
  const tool = tools.get(call.tool)
  // The run of an agent would continue even if the complete answer did not contain the call.
  if (signal.aborted || loop.runsCalls || !tool || (tool.startsRuns && children)) return
  if (admitEarly(state, proposed, before).do !== 'early' || isGuardedBySetup(running, call)) return
  const work = runCall(running, proposed, true).finally(() => inFlight.delete(call.callId))
  // The rejection reaches those who await `inFlight`; this keeps it from being reported as unhandled before.
  work.catch(() => {})
  inFlight.set(call.callId, work)
}
