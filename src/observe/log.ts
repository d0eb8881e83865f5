/**
 * observe/: consumers of a run's facts. May import contract/ alone. Must never know a store or a transport, nor keep what
 * models and tools said unless that was asked for.
 */
import type { RunFact } from '../contract/event.ts'
import type { Observer } from '../contract/hook.ts'
import { argumentsOf } from '../contract/message.ts'
import type { RunRequest } from '../contract/run.ts'
import type { Report } from '../contract/setup.ts'

/**
 * Reports each call as it settles, and each run as it ends: ids, names, times, sizes and codes. `includeContent` adds
 * arguments, results, error messages and the answer.
 */
export function logs(report: Report, { includeContent = false }: { includeContent?: boolean } = {}): Observer {
  /** Arguments of the calls of runs under way, where they are to be told. */
  const asked = new Map<string, string>()
  return (event, run) => {
    if (includeContent && event.type === 'step.answered') {
      for (const { callId, arguments: text } of event.calls) asked.set(callId, text)
    }
    const entry = entryOf(event, run)
    if (!entry) return
    const content = includeContent ? contentOf(event, asked) : {}
    report({ ...entry, runId: run.runId, tenant: run.caller.tenant, ...content })
  }
}

function entryOf(event: RunFact, run: RunRequest): { readonly event: string } | undefined {
  if (event.type === 'call.settled') {
    const { callId, tool, ok, error, durationMs, content = [] } = event
    const bytes = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : part.data.length), 0)
    return { event: 'call', ...{ callId, tool, ok, durationMs, bytes }, ...(error && { code: error.code }) }
  }
  if (event.type !== 'run.finished') return undefined
  const { status, finish, which, usage, error } = event
  const { conversation, model } = run
  return {
    event: 'run',
    ...{ model, status, finish, usage },
    ...(conversation !== undefined && { conversation }),
    ...(which && { which }),
    ...(error && { code: error.code }),
  }
}

function contentOf(event: RunFact, asked: Map<string, string>): object {
  if (event.type === 'run.finished')
    return { answer: event.answer, ...(event.error && { message: event.error.message }) }
  if (event.type !== 'call.settled') return {}
  const { callId, content, error } = event
  const text = asked.get(callId)
  asked.delete(callId)
  return { ...(text !== undefined && { arguments: argumentsOf(text) }), ...(content ? { content } : { error }) }
}
