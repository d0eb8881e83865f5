import type { RunFact } from '../contract/event.ts'
import type { Observer } from '../contract/hook.ts'
import { readableArguments, type ToolCall } from '../contract/message.ts'
import type { RunRequest } from '../contract/run.ts'
import type { SecretFilter } from '../contract/secrets.ts'
import type { Report } from '../contract/setup.ts'

/** Returns a function that logs entries, one a line, without these secrets. Level `error`: faults. */
export function reportTo(level: 'log' | 'error', secrets: SecretFilter | undefined): Report {
  return (entry) => {
    const line = JSON.stringify(entry)
    console[level](secrets ? secrets.text(line) : line)
  }
}

/**
 * Makes an observer that reports each model answer, each call when it is settled or begins to wait, and each run when it
 * begins to wait and when it ends: ids, names, times, sizes and codes. `includeContent` adds arguments, results, error
 * messages and the answer.
 */
export function logs(report: Report, { includeContent = false }: { includeContent?: boolean } = {}): Observer {
  /** The calls of the newest step of each run under way, by run id, if their arguments are logged. */
  const callsByRun = new Map<string, readonly ToolCall[]>()
  return (event, run) => {
    const { runId } = run
    if (includeContent && event.type === 'step.answered') callsByRun.set(runId, event.calls)
    if (event.type === 'run.finished') callsByRun.delete(runId)
    const entry = entryOf(event, run)
    if (!entry) return
    const content = includeContent ? contentOf(event, callsByRun.get(runId)) : {}
    report({ ...entry, runId, tenant: run.caller.tenant, ...content })
  }
}

function entryOf(event: RunFact, { conversation, model }: RunRequest): Parameters<Report>[0] | undefined {
  switch (event.type) {
    case 'step.answered': {
      const { step, finish, usage, calls } = event
      return { event: 'step', step, finish, calls: calls.length, usage }
    }
    case 'call.settled': {
      const { callId, tool, ok, error, durationMs, content = [], parent } = event
      const bytes = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : part.data.length), 0)
      return { event: 'call', callId, tool, ok, durationMs, bytes, code: error?.code, parent }
    }
    case 'provider.call': {
      const { step, tool, ok, sources = [] } = event
      return { event: 'provider.call', step, tool, ok, sources: sources.length }
    }
    case 'approval.requested':
      return { event: 'approval.requested', callId: event.callId, tool: event.tool }
    case 'call.judged': {
      const { callId, tool, about, ok, model: judge, answer, probabilities, code, durationMs, parent } = event
      return { event: 'call.judged', callId, tool, about, ok, judge, answer, probabilities, code, durationMs, parent }
    }
    case 'context.reduced': {
      const { step, before, after, room, because } = event
      return { event: 'context.reduced', model, step, before, after, room, because, conversation }
    }
    case 'call.requested':
      return { event: 'call.requested', callId: event.callId, tool: event.tool }
    case 'call.deferred':
      return { event: 'call.deferred', callId: event.callId, tool: event.tool }
    case 'call.suspended':
      return { event: 'call.suspended', callId: event.callId, tool: event.tool }
    case 'model.waiting': {
      const { step, code, until } = event
      return { event: 'model.waiting', model, step, code, until, conversation }
    }
    case 'run.waiting':
      return { event: 'run.waiting', for: event.for, model, conversation }
    case 'run.finished': {
      const { status, finish, which, usage, error } = event
      return { event: 'run', model, status, finish, usage, conversation, which, code: error?.code }
    }
    default:
      return undefined
  }
}

function contentOf(event: RunFact, calls: readonly ToolCall[] = []): object {
  if (event.type === 'run.finished') return { answer: event.answer, message: event.error?.message }
  if (event.type === 'step.answered') return { text: event.text }
  if (event.type !== 'call.settled') return {}
  const { callId, content, error } = event
  const text = calls.find((call) => call.callId === callId)?.arguments
  return { ...(text !== undefined && { arguments: readableArguments(text) }), ...(content ? { content } : { error }) }
}
