import type { AgentStart } from '../../contract/agent.ts'
import { limitedAmounts } from '../../contract/budget.ts'
import type { CallAnswer, ConversationService, PendingApproval, Refusal } from '../../contract/conversation.ts'
import type { RunFact, RunWaiting } from '../../contract/event.ts'
import { deriveRunId, newId } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { MOST_LATER_MS } from '../../contract/later.ts'
import type { Limits } from '../../contract/limits.ts'
import { withMarks } from '../../contract/message.ts'
import { conversationObject, idIn, jurisdictionOf, shardOf } from '../../contract/placement.ts'
import { type AgentCall, type AgentStanding, isTerminal, type RunRequest } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { pause, withDeadline } from '../../contract/time-limit.ts'
import { failure, type RunPlace, type ToolOutcome } from '../../contract/tool.ts'
import { callPart, traceOf, traceparentOf } from '../../contract/trace.ts'
import { agentOutcome } from '../../loop/agent.ts'
import { callLine, toldCalls } from '../../loop/effects.ts'
import { waitCause } from '../../loop/decide/decide.ts'
import { marksReadBy } from '../../loop/decide/data-flow-guard.ts'
import type { ChildRuns } from '../../loop/running.ts'
import type { CallState, RunState } from '../../loop/state.ts'
import type { ChildRow, ChildTable } from '../store/children.ts'
import type { Store } from '../store/store.ts'
import type { StoredRun } from '../store/runs.ts'
import { stateOf } from './replay.ts'

/** The most runs of agents that one run may start. */
const MOST_CHILDREN = 100
/** How often the run of an agent is asked whether it has ended, in milliseconds, in case its report was lost. */
const POLL_MS = 60 * 60_000
/** The same while it is not known to have been accepted: the first time, and doubled with each attempt up to the second. */
const FIRST_POLL_MS = 5000
const MOST_POLL_MS = 10 * 60_000
/** How long a request to another object may take, in milliseconds, and how often one is made if that is lost. */
const REQUEST_MS = 5000
const MOST_REQUESTS = 3
/** One request that may take long, since runs are cancelled. */
const ONCE = { most: 1, ms: 30_000 }
/** How much longer a call waits than the run of its agent lasts, in milliseconds: that run tells itself why it has ended. */
const GRACE_MS = 60_000
/** How long a request to start a run may be on its way, in milliseconds. */
const ON_ITS_WAY_MS = 2 * 60_000

export interface FamilyPorts {
  readonly store: Store
  readonly setup: Setup
  readonly now: () => number
}

/** An unfinished run: what is stored of it, and its state. */
interface StoredState {
  readonly stored: StoredRun
  readonly state: RunState
}

/** The tenant and the id of a conversation, as its object knows them. No request, run or copy can change that. */
interface Owner {
  readonly tenant: string
  readonly id: string
}

function ownerOf(store: Store): Owner {
  const owner = store.meta('owner')
  return isObject(owner) ? { tenant: String(owner.tenant), id: String(owner.id) } : { tenant: '', id: '' }
}

/**
 * Returns what starts the runs of agents for a run. Each is stored in a conversation of its own, whose id is made of the
 * call's key, like that of the run: a call that is sent again finds the run that an earlier attempt has started.
 */
export function childRuns({ stored, state }: StoredState, ports: FamilyPorts): ChildRuns {
  const { store, now } = ports
  return {
    start: async (call, start) => {
      const { children } = store
      const owner = ownerOf(store)
      // A row that was forged or damaged starts nothing for others.
      if (start.run.caller.tenant !== owner.tenant) return failure('agent_failed', 'The agent cannot be asked here.')
      const { tool: agent, callId } = call
      const place = await placeOfChild(call, start, store)
      if (!children.of(callId) && children.ofRun(stored.id).length >= MOST_CHILDREN)
        return failure(
          'too_many_agents',
          `Not run: this run has asked agents ${MOST_CHILDREN} times. Answer without them.`,
        )
      const row = children.of(callId) ?? {
        ...{ call: callId, run: stored.id, agent, conversation: place.conversation, child: place.run, created: now() },
        ...shareOfLimits(start.run.limits, state, children.ofRun(stored.id)),
      }
      children.add(row)
      const run = childRequest(state, { call, start, place, row, ports })
      return startChild(call, { run, start, place }, ports)
    },
    outcome: (call) => outcomeOfChild(call, ports),
  }
}

/**
 * Returns where the run of an agent is stored: in the jurisdiction of this conversation. Nobody can tell the id in advance,
 * and make a conversation under it, with messages that the agent would read: it is derived from a key that this object
 * alone has.
 */
async function placeOfChild(
  { callId, key = callId, tool }: CallState,
  { run, memory }: AgentStart,
  store: Store,
): Promise<RunPlace> {
  const row = store.children.of(callId)
  if (row) return { conversation: row.conversation, run: run.runId }
  const { tenant, id } = ownerOf(store)
  const subject = memory === 'conversation' ? '' : key
  const idOf = async (...texts: readonly string[]) =>
    idIn(jurisdictionOf(id), (await deriveRunId(...texts)).replace('run', 'conv'))
  // Earlier versions derived the id without the key. What such an agent remembers stays its own.
  const earlier = await idOf(tenant, id, tool, subject)
  const conversation = store.children.has(earlier) ? earlier : await idOf(tenant, id, tool, subject, agentsKey(store))
  return { conversation, run: run.runId }
}

/** Returns the key of the ids of this conversation's agents, which is made when it is first needed. */
function agentsKey(store: Store): string {
  const stored = store.meta('agentsKey')
  if (typeof stored === 'string') return stored
  const key = newId('key')
  store.setMeta('agentsKey', key)
  return key
}

interface ChildTerms {
  readonly call: CallState
  readonly start: AgentStart
  readonly place: RunPlace
  /** What was noted when the run was first asked for. */
  readonly row: Pick<ChildRow, 'created' | 'tokens' | 'cost'>
  readonly ports: FamilyPorts
}

/** Returns the request of the run of an agent: the same for each attempt at its call. */
function childRequest(state: RunState, { call, start, place, row, ports }: ChildTerms): RunRequest {
  const { request } = state
  const { callId, tool: agent } = call
  const { setup } = ports
  const { run } = start
  const { conversation, runId, budget } = request
  const parent: AgentCall = { conversation, run: runId, call: callId, agent }
  const until = Math.min(
    row.created + Math.min(run.limits.runMs, MOST_LATER_MS - GRACE_MS),
    request.agent?.until ?? Infinity,
  )
  const marks = [...marksReadBy(state, call)]
  const traceparent = traceparentOf(request, callPart(callId, call.attempt + 1))
  const trace = traceOf(traceparent ?? null, place.run, setup.hasSpans === true)
  const shard = shardOf(place.conversation, setup.config.directoryShards)
  return {
    ...run,
    // A turn of it that is run again, and a fork, have no calling run.
    input: withMarks(run.input, marks),
    conversation: place.conversation,
    durable: true,
    limits: limitsOf(run.limits, row),
    agent: { path: [...(request.agent?.path ?? []), parent], until, ...(marks.length > 0 && { marks }) },
    // It draws a share of its own before its first step.
    ...(budget && { budget: { ...limitedAmounts(budget, () => 0), until: 0 } }),
    ...(trace && { trace }),
    ...(shard > 0 && { shard }),
  }
}

/** Returns the limits of an agent with those that it was given of the calling run. */
function limitsOf(limits: Limits, { tokens, cost }: ChildTerms['row']): Limits {
  return { ...limits, ...(tokens !== null && { tokens }), ...(cost !== null && { cost }) }
}

/**
 * Returns how much of what is left of the limits of the calling run an agent may use: at most its own limits, and what the
 * agents beside it have not been given. Those of a step that have not been asked yet are given equal parts.
 */
function shareOfLimits(own: Limits, state: RunState, rows: readonly ChildRow[]): Pick<ChildRow, 'tokens' | 'cost'> {
  const { request, usage, step, offered } = state
  const knownCalls = new Set(rows.map(({ call }) => call))
  const toAsk = step?.calls.filter(({ callId, status, tool }) => {
    return status !== 'settled' && !knownCalls.has(callId) && offered.get(tool)?.callsTools
  })
  const atWork = rows.filter(({ settled }) => settled === 0)
  const share = (most: number | undefined, used: number, name: 'tokens' | 'cost', least: number) => {
    const othersShare = atWork.reduce((sum, row) => sum + (row[name] ?? 0), 0)
    const room =
      most === undefined ? Infinity : Math.max(least, (most - used - othersShare) / Math.max(1, toAsk?.length ?? 1))
    const limit = Math.min(own[name] ?? Infinity, room)
    return limit === Infinity ? null : limit
  }
  const tokens = share(request.limits.tokens, usage.inputTokens + usage.outputTokens, 'tokens', 1)
  const cost = share(request.limits.cost, usage.cost ?? 0, 'cost', Number.EPSILON)
  return { tokens: tokens === null ? null : Math.floor(tokens), cost }
}

interface ChildStart {
  readonly run: RunRequest
  readonly start: AgentStart
  readonly place: RunPlace
}

/** The refusals of a start that may succeed a little later. */
const BUSY: ReadonlySet<Refusal['code']> = new Set<Refusal['code']>(['queue_full'])

/** Asks the conversation of the agent to accept its run. Whether or not that is confirmed, the call is answered later. */
async function startChild(
  { callId, attempt }: CallState,
  { run, start, place }: ChildStart,
  ports: FamilyPorts,
): Promise<ToolOutcome> {
  const { store, setup, now } = ports
  const within = Math.max(0, (run.agent?.until ?? 0) + GRACE_MS - now())
  const expires = store.time('expires')
  const unsure = Math.min(FIRST_POLL_MS * 2 ** Math.min(attempt, 10), MOST_POLL_MS)
  try {
    const reply = await ask(ports, place.conversation, (child) =>
      child.start({
        run,
        tools: JSON.stringify(start.tools),
        onBusy: 'queue',
        create: true,
        ...(expires < Infinity && { expires }),
      }),
    )
    if (store.life() !== 'open') return laterIn(place, within, unsure)
    if (reply.ok) {
      if (store.children.of(callId)?.status === 'asked')
        store.children.setStanding(callId, { status: reply.status, waits: [] })
      return laterIn(place, within, POLL_MS)
    }
    const isBusy = BUSY.has(reply.code) || reply.reached?.quota.startsWith('concurrentRuns')
    if (!isBusy) return failure('agent_failed', `The agent cannot be asked now: ${reply.message}`)
  } catch (error) {
    setup.report({ event: 'agent.unconfirmed', callId, conversation: place.conversation, detail: messageOf(error) })
  }
  return laterIn(place, within, unsure)
}

function laterIn(child: RunPlace, within: number, poll: number): ToolOutcome {
  const message = 'The agent answers later.'
  return { ok: false, error: { code: 'later', message }, later: { within, poll, child } }
}

/** Asks the object of another conversation of this tenant, and another instance of it if that is lost. */
async function ask<Answer>(
  { store, setup }: FamilyPorts,
  conversation: string,
  request: (object: ConversationService) => Promise<Answer>,
  { most = MOST_REQUESTS, ms = REQUEST_MS }: { readonly most?: number; readonly ms?: number } = {},
): Promise<Answer> {
  const { tenant } = ownerOf(store)
  for (let requests = 1; ; requests++) {
    try {
      return await withDeadline(ms, request(conversationObject(setup, tenant, conversation)))
    } catch (error) {
      if (requests >= most || Object(error).overloaded === true) throw error
      await pause(requests * 100)
    }
  }
}

/** Asks the conversation of an agent what its run has come to. */
async function outcomeOfChild(call: CallState, ports: FamilyPorts): ReturnType<ChildRuns['outcome']> {
  const { store } = ports
  const { child, callId, tool } = call
  if (!child) return 'absent'
  try {
    const reply = await ask(ports, child.conversation, (object) => object.agentOutcome(child.run))
    if (reply.ok || store.life() !== 'open') return reply.ok ? reply.outcome : undefined
    const status = store.children.of(callId)?.status ?? 'asked'
    if (status === 'asked' && NEVER_STARTED.has(reply.code)) return 'absent'
    return failure('agent_failed', `The run of the agent "${tool}" is gone: ${reply.message}`)
  } catch {
    return undefined
  }
}

const NEVER_STARTED: ReadonlySet<Refusal['code']> = new Set<Refusal['code']>(['unknown_conversation', 'unknown_run'])

interface CancelPorts extends FamilyPorts {
  /** Adds a fact that changes nothing about a run, which may have ended. */
  readonly addFact: (run: string, fact: RunFact) => void
}

/** Cancels the run of an agent whose call nobody waits for any more. Rejects if that must be tried again. */
export async function cancelChild(callId: string, ports: CancelPorts): Promise<void> {
  const { store, now } = ports
  const row = store.children.of(callId)
  if (!row) return
  const reply = await ask(ports, row.conversation, (object) => object.cancel(row.child), ONCE)
  if (reply.ok) return keepEffects(row, ports)
  if (!NEVER_STARTED.has(reply.code)) return
  const isOnItsWay = row.status === 'asked' && now() < row.created + ON_ITS_WAY_MS
  if (isOnItsWay) throw new Error('The run of the agent may not have been accepted yet.')
}

/** Stores what the run of an agent had done before it was cancelled, so that people and later turns can read it. */
async function keepEffects({ call, run, conversation, child, agent }: ChildRow, ports: CancelPorts): Promise<void> {
  const { store, now, addFact } = ports
  const reply = await ask(ports, conversation, (object) => object.agentOutcome(child), ONCE)
  if (!reply.ok || store.life() !== 'open') return
  if (!reply.outcome) throw new Error('The run of the agent has not ended yet.')
  const { calls: all = [], marks = [] } = reply.outcome
  const calls = toldCalls(all)
  const lines = calls.map(callLine)
  const text = lines.length > 0 ? `Before, it made these calls:\n${lines.join('\n')}` : 'It had taken no effect.'
  const content = [{ type: 'text', text: `The run of the agent "${agent}" was cancelled. ${text}` }] as const
  store.transaction(() => {
    store.fullResults.keep(call, content)
    store.mark([{ role: 'tool', callId: call, tool: agent, ok: false, content, marks }])
    const fact = { type: 'call.late', callId: call, tool: agent, ok: false, at: now(), calls } as const
    if (calls.length > 0 && store.runs.row(run)) addFact(run, fact)
  })
}

/**
 * Deletes conversations of agents, or all of them, with the conversation that has called them. Rejects if one of them
 * cannot be deleted now; those that were are forgotten, so that the rest can be tried again.
 */
export async function removeChildren(ports: FamilyPorts, some?: readonly string[]): Promise<void> {
  const { store, setup } = ports
  const { tenant, id } = ownerOf(store)
  for (;;) {
    const conversations = some ?? store.children.conversations('', AT_A_TIME).map(({ conversation }) => conversation)
    await Promise.all(
      conversations.map(async (conversation) => {
        const reply = await ask(ports, conversation, (object) => object.remove({ of: id }), ONCE)
        if (reply.ok || reply.code === 'conversation_deleted')
          await setup.directories.getByName(tenant).remove(conversation)
        if (store.life() === 'open') store.children.drop(conversation)
      }),
    )
    if (some || conversations.length < AT_A_TIME || store.life() !== 'open') return
  }
}

/** How many conversations are deleted side by side. */
const AT_A_TIME = 20

/**
 * Tells the run that has called an agent how the agent's run stands: its outcome, or what it waits for. Rejects if that
 * must be told again later.
 */
export async function tellParent(
  runId: string,
  { findRun, ...ports }: FamilyPorts & { readonly findRun: (id: string) => StoredState | undefined },
): Promise<void> {
  const { store } = ports
  const request = store.runs.request(runId)
  const status = store.runs.row(runId)?.status
  const parent = request?.agent?.path.at(-1)
  if (!parent || !status) return
  const own = ownerOf(store)
  const parentConversation = parent.conversation ?? idIn(jurisdictionOf(own.id), `~${parent.run}`)
  const report = isTerminal(status)
    ? { outcome: outcomeOf(store, runId, parent.agent) }
    : { standing: readStanding(findRun(runId), { status, store, runId, own }) }
  const reply = await ask(ports, parentConversation, (object) => object.report(parent.run, parent.call, report))
  if (!reply.ok && MAY_BE_TOLD_LATER.has(reply.code)) throw new Error(reply.message)
}

/** The refusals after which a run may still learn the outcome. After any other, nobody waits for it. */
const MAY_BE_TOLD_LATER: ReadonlySet<Refusal['code']> = new Set<Refusal['code']>(['run_parked', 'quota_exceeded'])

/** Returns the outcome of the call of an agent, whose run has ended. */
export function outcomeOf(store: Store, runId: string, agent: string): ToolOutcome {
  const stored = store.runs.get(runId)
  const state = stored && stateOf(store, stored).state
  if (state?.finished) {
    // What it answers may be of what its conversation has read in earlier turns.
    for (const mark of [...store.marks(), ...(state.request.agent?.marks ?? [])]) state.marks.add(mark)
    return agentOutcome(state, agent)
  }
  const record = store.runs.record(runId)
  const { message = 'its journal cannot be read' } = record?.error ?? {}
  const usage = record ? { usage: record.usage } : {}
  return { ...failure('agent_failed', `The agent "${agent}" failed: ${message}`), ...usage }
}

/**
 * Passes answers to the runs of agents whose calls they are about, and returns the other answers, which are about the run
 * itself; or the refusal of the first one that was refused.
 */
export async function answerBelow(
  runId: string,
  answers: Readonly<Record<string, CallAnswer>>,
  ports: FamilyPorts,
): Promise<{ readonly own: Readonly<Record<string, CallAnswer>>; readonly refusal?: Refusal }> {
  const { children } = ports.store
  const places = new Map(Object.keys(answers).map((callId) => [callId, children.findWait(runId, callId)]))
  const ofRun = (run: string | undefined) =>
    Object.fromEntries(Object.entries(answers).filter(([callId]) => places.get(callId)?.run === run))
  const own = ofRun(undefined)
  const waits = new Map([...places.values()].flatMap((wait) => (wait ? [[wait.run, wait] as const] : [])))
  for (const [run, { conversation }] of waits) {
    const reply = await ask(ports, conversation, (object) => object.answer(run, ofRun(run)), ONCE)
    if (!reply.ok) return { own, refusal: reply }
    // The agent reports itself only later; readers that follow the run from here must not end at what was just decided.
    if (ports.store.life() === 'open') children.removeWaits(runId, Object.keys(ofRun(run)))
  }
  return { own }
}

/** Returns a call that waits for a decision in the run of an agent; undefined if none does that has this id. */
export async function approvalBelow(
  runId: string,
  callId: string,
  ports: FamilyPorts,
): Promise<PendingApproval | undefined> {
  const wait = ports.store.children.findWait(runId, callId)
  if (!wait) return undefined
  const reply = await ask(ports, wait.conversation, (object) => object.approval(wait.run, callId))
  return reply.ok ? { ...reply.approval, conversation: wait.conversation } : undefined
}

/** The statuses in which the run of an agent continues by itself. */
const AT_WORK: ReadonlySet<ChildRow['status']> = new Set<ChildRow['status']>([
  'asked',
  'queued',
  'running',
  'cancelling',
])

/** Returns what a waiting run waits for, if that is something else than its last event says, or more. */
export function newWait(state: RunState, children: ChildTable): Omit<RunWaiting, 'type' | 'at'> | undefined {
  const { wait, request } = state
  const agents = children.waits(request.runId)
  const isAtWork = children.ofRun(request.runId).some(({ settled, status }) => settled === 0 && AT_WORK.has(status))
  const own = waitCause(state)
  const cause = agents.length > 0 ? 'approval' : own === 'agent' && !isAtWork ? 'tool' : own
  const before = new Set(wait?.agents.map(({ call }) => call))
  if (cause === wait?.for && agents.every(({ call }) => before.has(call))) return undefined
  return { for: cause, ...(agents.length > 0 && { agents }) }
}

interface StandingTerms {
  readonly status: AgentStanding['status']
  readonly store: Store
  readonly runId: string
  readonly own: Owner
}

function readStanding(open: StoredState | undefined, { status, store, runId, own }: StandingTerms): AgentStanding {
  const calls = open?.state.calls.filter((call) => call.status === 'awaiting_approval') ?? []
  const agents = open?.state.request.agent?.path.map(({ agent }) => agent) ?? []
  const place = { conversation: own.id, run: runId }
  const ownWaits = calls.map(({ callId: call, tool, arguments: text, needs: input }) => {
    return { ...place, call, tool, arguments: text, input, agents }
  })
  const waits = [...ownWaits, ...store.children.waits(runId)]
  return { status: open?.state.wait?.for === 'agent' ? 'running' : status, waits }
}

/** Returns the conversation that has called the agent whose run a request is for; undefined for any other request. */
export function parentOf({ agent, conversation = '' }: RunRequest): string | undefined {
  const call = agent?.path.at(-1)
  return call && (call.conversation ?? idIn(jurisdictionOf(conversation), `~${call.run}`))
}
