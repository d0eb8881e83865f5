import type { CallSettled, RunEvent } from '../../contract/event.ts'
import { questionsOf } from '../../contract/input.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { CallView, RunView, StepView, Wait } from './run-view.ts'

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
      return { ...run, status: 'waiting', waits: [...run.waits, newWait(run, event)] }
    case 'run.resumed': {
      const waits = run.waits.map((wait) => (wait.to === undefined ? { ...wait, to: event.at } : wait))
      return { ...run, status: 'running', waits }
    }
    case 'run.cancelling':
      return { ...run, status: 'cancelling' }
    case 'run.parked':
      return noted({ ...run, status: 'parked' }, `Parked: ${event.reason}`)
    case 'run.retried':
      return { ...run, status: 'running' }
    case 'run.finished': {
      const { status, finish, which, answer, usage, error } = event
      return { ...run, status, finish, answer, usage, ...(which && { which }), ...(error && { error }) }
    }
    case 'model.waiting':
      return withStep(noted(run, waitNote(event)), event.step, (step) => foldStep(step, event))
    case 'context.reduced':
    case 'step.started':
    case 'step.restarted':
    case 'step.answered':
    case 'step.finished':
    case 'answer.rejected':
    case 'answer.cut':
    case 'model.retried':
    case 'text.delta':
    case 'reasoning.delta':
      return withStep(run, event.step, (step) => foldStep(step, event))
    default:
      return withCall(run, event)
  }
}

type StepEvent = Extract<RunEvent, { readonly step: number }>
type CallEvent = Extract<RunEvent, { readonly callId: string }>

const NEW_STEP = { attempt: 1, text: '', reasoning: '', calls: [], isAnswered: false, rejected: [] }

function foldStep(step: StepView, event: Exclude<StepEvent, CallEvent>): StepView {
  switch (event.type) {
    case 'step.started':
      return { ...step, ...(event.tools && { tools: event.tools }) }
    case 'context.reduced': {
      const { before, after, because } = event
      return { ...step, reductions: [...(step.reductions ?? []), { before, after, ...(because && { because }) }] }
    }
    case 'step.restarted':
      // What the lost attempt showed is void.
      return { ...step, ...NEW_STEP, attempt: event.attempt }
    case 'text.delta':
      return { ...step, text: step.text + event.text }
    case 'reasoning.delta':
      return { ...step, reasoning: step.reasoning + event.text }
    case 'answer.rejected':
      return { ...step, text: '', rejected: [...step.rejected, { text: event.text, issues: event.issues }] }
    case 'answer.cut':
      return { ...step, usage: event.usage }
    case 'model.retried':
    case 'model.waiting':
      return { ...step, retries: [...(step.retries ?? []), event.code] }
    case 'step.answered': {
      const { text, reasoning = step.reasoning, calls, finish, usage, roomLeft } = event
      const callsById = new Map(step.calls.map((call) => [call.id, call]))
      const all = calls.map((call) => callsById.get(call.callId) ?? newCall(call))
      return {
        ...step,
        ...{ text, reasoning, calls: all, finish, isAnswered: true },
        ...(usage && { usage }),
        ...(roomLeft !== undefined && { roomLeft }),
      }
    }
    case 'step.finished':
      return { ...step, finish: event.finish, ...(event.usage && { usage: event.usage }) }
  }
}

function newCall({ callId, tool, arguments: text }: ToolCall): CallView {
  return { id: callId, tool, arguments: text, state: 'proposed', attempts: [] }
}

function foldCall(call: CallView, event: CallEvent): CallView {
  switch (event.type) {
    case 'call.delta':
      return { ...call, tool: event.name ?? call.tool, arguments: call.arguments + event.arguments }
    case 'call.proposed':
      return { ...call, tool: event.tool, arguments: event.arguments }
    case 'approval.requested':
      return {
        ...call,
        state: 'approval',
        approval: {
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
      }
      const changes = event.arguments === undefined ? {} : { arguments: event.arguments }
      return { ...call, ...changes, state: decision === 'approve' ? 'proposed' : 'rejected', approval }
    }
    case 'call.requested':
      return { ...call, state: 'caller' }
    case 'call.started': {
      const { attempt: number, at: from, place, version } = event
      return { ...call, state: 'running', attempts: [...call.attempts, { number, from }], place, version }
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
      return settled(call, event)
    case 'call.deferred':
      return { ...call, state: 'later' }
    case 'call.issued':
      return { ...call, parent: event.parent }
    case 'call.suspended':
      return { ...call, state: 'suspended' }
    case 'call.reported':
    case 'call.late':
    case 'program.woken':
    case 'program.diverged':
      return call
    case 'call.undone':
      return { ...call, undone: { ok: event.ok, ...(event.error && { message: event.error.message }) } }
  }
}

function settled(call: CallView, event: CallSettled): CallView {
  const { ok, content, structured, cut, error, usage, deployment, durationMs } = event
  const { progress: _, ...rest } = call
  const last = call.attempts.at(-1)
  const attempts = last ? [...call.attempts.slice(0, -1), { ...last, to: last.from + durationMs }] : call.attempts
  const state = ok ? 'ok' : call.state === 'rejected' ? 'rejected' : 'failed'
  return {
    ...rest,
    state,
    attempts,
    durationMs,
    ...(content && { content }),
    ...(structured !== undefined && { structured }),
    ...(cut !== undefined && { cut }),
    ...(error && { error }),
    ...(usage && { usage }),
    ...(deployment !== undefined && { deployment }),
  }
}

function newWait({ steps }: RunView, event: Extract<RunEvent, { readonly type: 'run.waiting' }>): Wait {
  return { step: steps.at(-1)?.number ?? 1, for: event.for, from: event.at }
}

function waitNote({ code, until }: Extract<RunEvent, { readonly type: 'model.waiting' }>): string {
  return `The model fails (${code}). It is asked again at ${new Date(until).toLocaleTimeString()}.`
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
