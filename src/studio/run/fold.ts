import type { CallSettled, RunEvent } from '../../contract/event.ts'
import { questionsOf } from '../../contract/input.ts'
import type { MadeCall, ToolCall } from '../../contract/message.ts'
import { IN_DOUBT_CODES } from '../../contract/tool.ts'
import { judgementText } from '../part/text.ts'
import type { CallView, LostAttempt, RunView, StepView, Wait } from './run-view.ts'

/** Folds an event into the view of its run. Steps and calls that it does not touch stay the same objects. */
export function foldEvent(run: RunView, event: RunEvent): RunView {
  switch (event.type) {
    case 'run.started':
      return { ...run, status: 'running', model: event.model, tools: event.tools, startedAt: event.at }
    case 'input.added':
      return noted(run, 'More input joined the run.')
    case 'tools.added': {
      const names = event.tools.map(({ name }) => name)
      return noted({ ...run, tools: [...new Set([...run.tools, ...names])] }, `Tools joined: ${names.join(', ')}.`)
    }
    case 'history.repaired':
      return noted(
        run,
        `The history was repaired: ${event.dropped} messages left out, ${event.filled} results filled in.`,
      )
    case 'history.compacted':
      return noted(run, `The messages before position ${event.upTo} were summarised.`)
    case 'limit.reached':
      return noted(run, `The limit “${event.which}” was reached.`)
    case 'run.waiting':
      return { ...run, status: 'waiting', waits: [...endWaits(run, event.at), newWait(run, event)] }
    case 'run.resumed':
      return { ...run, status: 'running', waits: endWaits(run, event.at) }
    case 'run.cancelling':
      return { ...run, status: 'cancelling' }
    case 'run.parked':
      return noted({ ...run, status: 'parked' }, `Parked: ${event.reason}`)
    case 'run.retried':
      return { ...run, status: 'running' }
    case 'run.finished': {
      const { status, finish, which, answer, usage, error } = event
      const end = { ...run, status, finish, answer, usage, ...(which && { which }), ...(error && { error }) }
      return ended(event.at === undefined ? end : { ...end, endedAt: event.at })
    }
    case 'context.reduced':
    case 'step.started':
    case 'step.restarted':
    case 'step.answered':
    case 'step.finished':
    case 'answer.rejected':
    case 'answer.cut':
    case 'provider.call':
    case 'model.retried':
    case 'model.waiting':
    case 'text.delta':
    case 'reasoning.delta':
      return withStep(run, event.step, (step) => foldStep(step, event))
    default:
      return withCall(run, event)
  }
}

/** What was open when the run ended is over. A step without an answer has the error of the run. */
function ended(run: RunView): RunView {
  const last = run.steps.at(-1)
  if (!last || last.isAnswered || !run.error) return run
  return { ...run, steps: [...run.steps.slice(0, -1), { ...last, error: run.error }] }
}

type StepEvent = Extract<RunEvent, { readonly step: number }>
type CallEvent = Extract<RunEvent, { readonly callId: string }>

const NEW_STEP = {
  ...{ attempt: 1, text: '', reasoning: '', calls: [], isAnswered: false },
  ...{ rejected: [], lostAttempts: [], pauses: [] },
}

function foldStep(step: StepView, event: Exclude<StepEvent, CallEvent>): StepView {
  switch (event.type) {
    case 'step.started':
      return {
        ...step,
        ...(event.tools && { tools: event.tools }),
        ...(event.at !== undefined && { startedAt: event.at }),
      }
    case 'context.reduced': {
      const { before, after, because } = event
      return { ...step, reductions: [...(step.reductions ?? []), { before, after, ...(because && { because }) }] }
    }
    case 'step.restarted':
      return restarted(step, event)
    case 'text.delta':
      return { ...step, text: step.text + event.text }
    case 'reasoning.delta':
      return { ...step, reasoning: step.reasoning + event.text }
    case 'answer.rejected':
      return { ...step, text: '', rejected: [...step.rejected, { text: event.text, issues: event.issues }] }
    case 'answer.cut':
      return { ...step, usage: event.usage }
    case 'provider.call':
      return { ...step, providerCalls: [...(step.providerCalls ?? []), event] }
    case 'model.retried': {
      const { code, status, durationMs, at } = event
      const times = at === undefined ? {} : { from: at - durationMs, to: at }
      return withLost(step, { code, ...(status !== undefined && { status }), ...times })
    }
    case 'model.waiting': {
      const { code, status, at, until } = event
      const since = step.lostAttempts.at(-1)?.to ?? step.startedAt
      const lost = {
        code,
        ...(status !== undefined && { status }),
        ...(since !== undefined && { from: since, to: at }),
      }
      return { ...withLost(step, lost), pauses: [...step.pauses, { from: at, to: until, code, until }] }
    }
    case 'step.answered': {
      const { text, reasoning = step.reasoning, calls, finish, usage, roomLeft, citations } = event
      const callsById = new Map(step.calls.map((call) => [call.id, call]))
      const all = calls.map((call) => callsById.get(call.callId) ?? newCall(call))
      return {
        ...step,
        ...{ text, reasoning, calls: all, finish, isAnswered: true },
        ...(usage && { usage }),
        ...(citations && { citations }),
        ...(roomLeft !== undefined && { roomLeft }),
        ...(event.at !== undefined && { answeredAt: event.at }),
      }
    }
    case 'step.finished':
      return { ...step, finish: event.finish, ...(event.usage && { usage: event.usage }) }
  }
}

/** What the lost attempt showed is void. */
function restarted(step: StepView, { attempt, because, at }: Extract<RunEvent, { type: 'step.restarted' }>): StepView {
  const { lostAttempts, pauses, startedAt } = step
  const next = { ...step, ...NEW_STEP, attempt, lostAttempts, pauses, ...(at !== undefined && { startedAt: at }) }
  // An attempt that ended in a wait has been counted already.
  if (because === 'waited') return next
  const from = lostAttempts.at(-1)?.to ?? startedAt
  return withLost(next, {
    code: because ?? 'restarted',
    ...(from !== undefined && at !== undefined && { from, to: at }),
  })
}

function withLost(step: StepView, lost: LostAttempt): StepView {
  return { ...step, lostAttempts: [...step.lostAttempts, lost] }
}

function newCall({ callId, tool, arguments: text }: ToolCall): CallView {
  return { id: callId, tool, arguments: text, state: 'proposed', attempts: [], waits: [] }
}

function foldCall(call: CallView, event: CallEvent): CallView {
  switch (event.type) {
    case 'call.delta':
      return { ...call, tool: event.name ?? call.tool, arguments: call.arguments + event.arguments }
    case 'call.proposed':
      return { ...call, tool: event.tool, arguments: event.arguments }
    case 'approval.requested':
      return {
        ...waiting(call, event.at),
        state: 'approval',
        ...(event.parent !== undefined && { parent: event.parent }),
        approval: {
          ...(event.at !== undefined && { askedAt: event.at }),
          ...(event.because && { because: event.because }),
          ...(event.input && { questions: questionsOf(event.input) }),
        },
      }
    case 'approval.decided': {
      const { decision, reason, by } = event
      const approval = {
        ...call.approval,
        decision,
        ...(reason && { reason }),
        ...(by && { by }),
        ...(event.arguments && { isChanged: true as const }),
        ...(event.at !== undefined && { decidedAt: event.at }),
      }
      const changes = event.arguments === undefined ? {} : { arguments: event.arguments }
      return { ...awake(call, event.at), ...changes, state: decision === 'approve' ? 'proposed' : 'rejected', approval }
    }
    case 'call.judged':
      return withNote(call, judgementText(event, event.about))
    case 'call.requested':
      return {
        ...waiting(call, event.at),
        state: 'caller',
        ...(event.parent !== undefined && { parent: event.parent }),
      }
    case 'call.started': {
      const { attempt: number, at: from, place, version } = event
      const attempts = [...call.attempts, { number, from }]
      const more = {
        ...(event.isProgram && { isProgram: true as const }),
        ...(event.parent !== undefined && { parent: event.parent }),
      }
      return { ...awake(call, from), state: 'running', attempts, place, version, ...more }
    }
    case 'call.interrupted':
      return {
        ...call,
        state: 'interrupted',
        attempts: call.attempts.map((each) => ({ loss: event.because ?? 'stopped', ...each })),
      }
    case 'call.progress':
      return { ...call, progress: event }
    case 'call.settled':
      return settled(call, event, event.at)
    case 'call.deferred':
      return { ...waiting(call, event.at), state: 'later' }
    case 'call.issued':
      return { ...call, parent: event.parent, tool: event.tool, arguments: event.arguments }
    case 'call.suspended':
      return {
        ...call,
        state: 'suspended',
        attempts: call.attempts.map((each) => ({ to: event.at ?? each.from, ...each })),
      }
    case 'call.reported':
      return awake(call, event.at)
    case 'call.late':
      return { ...withNote(call, tooLate(event.ok)), ...doubtsAmong(event.calls) }
    case 'program.woken':
      return withNote(call, `The timer with the number ${event.ask} of the program rang.`)
    case 'program.diverged':
      return withNote(call, `Run again, the program asked for something else from its request ${event.ask} on.`)
    case 'call.undone':
      return { ...call, undone: { ok: event.ok, ...(event.error && { message: event.error.message }) } }
  }
}

function settled(call: CallView, event: CallSettled, at: number | undefined): CallView {
  const { ok, content, structured, cut, error, usage, deployment, durationMs } = event
  const { progress: _, ...rest } = call
  const last = call.attempts.at(-1)
  const { waits } = awake(call, at)
  const attempts = last ? [...call.attempts.slice(0, -1), { ...last, to: last.from + durationMs }] : call.attempts
  const state = ok ? 'ok' : call.state === 'rejected' ? 'rejected' : 'failed'
  const inDoubt = last !== undefined && !call.isProgram && IN_DOUBT_CODES.has(error?.code ?? '')
  return {
    ...rest,
    state,
    attempts,
    waits,
    durationMs,
    ...(content && { content }),
    ...(structured !== undefined && { structured }),
    ...(cut !== undefined && { cut }),
    ...(error && { error }),
    ...(inDoubt && { inDoubt }),
    ...doubtsAmong(event.calls),
    ...(usage && { usage }),
    ...(deployment !== undefined && { deployment }),
  }
}

function tooLate(ok: boolean): string {
  return `An outcome came too late (${ok ? 'done' : 'failed'}); no model has read it.`
}

/** Returns the calls of an agent of which nobody knows whether they took effect. */
function doubtsAmong(calls: readonly MadeCall[] = []): Pick<CallView, 'callsInDoubt'> {
  const callsInDoubt = calls.filter((each) => each.inDoubt)
  return callsInDoubt.length > 0 ? { callsInDoubt } : {}
}

/** The run waits no longer for what it has waited for. */
function endWaits({ waits }: RunView, at: number): readonly Wait[] {
  return waits.map((wait) => (wait.to === undefined ? { ...wait, to: at } : wait))
}

function newWait({ steps }: RunView, event: Extract<RunEvent, { readonly type: 'run.waiting' }>): Wait {
  return { step: steps.at(-1)?.number ?? 1, for: event.for, from: event.at }
}

/** The call begins to wait for others. */
function waiting(call: CallView, at: number | undefined): CallView {
  return at === undefined ? call : { ...call, waits: [...call.waits, { from: at }] }
}

/** The call waits no longer. */
function awake(call: CallView, at: number | undefined): CallView {
  return { ...call, waits: call.waits.map((wait) => ({ to: at ?? wait.from, ...wait })) }
}

function withNote(call: CallView, note: string): CallView {
  return { ...call, notes: [...(call.notes ?? []), note] }
}

function noted(run: RunView, note: string): RunView {
  return { ...run, notes: [...run.notes, note] }
}

function withStep(run: RunView, number: number, change: (step: StepView) => StepView): RunView {
  const at = run.steps.findLastIndex((step) => step.number === number)
  if (at < 0) return { ...run, steps: [...run.steps, change({ number, ...NEW_STEP })] }
  return { ...run, steps: run.steps.with(at, change(run.steps[at] ?? { number, ...NEW_STEP })) }
}

/** Changes a call where it is; an unknown one joins the last step. */
function withCall(run: RunView, event: CallEvent): RunView {
  const at = run.steps.findLastIndex(({ calls }) => calls.some(({ id }) => id === event.callId))
  const number = run.steps.at(at < 0 ? -1 : at)?.number ?? 1
  return withStep(run, number, (step) => {
    const index = step.calls.findIndex(({ id }) => id === event.callId)
    const existing = step.calls[index]
    if (existing) return { ...step, calls: step.calls.with(index, foldCall(existing, event)) }
    const tool = 'tool' in event ? event.tool : ''
    const text = 'arguments' in event && event.type !== 'call.delta' ? (event.arguments ?? '') : ''
    const added = newCall({ callId: event.callId, tool, arguments: text })
    return { ...step, calls: [...step.calls, foldCall(added, event)] }
  })
}
