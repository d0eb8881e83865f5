import type { RunFinished } from '../../contract/event.ts'
import type { Message } from '../../contract/message.ts'
import { NO_USAGE, type Usage } from '../../contract/usage.ts'
import { SUMMARY_REQUEST } from '../../wire/client/summary.ts'
import type { RequestContext } from '../request-context.ts'
import { startStateless } from './place-run.ts'
import { prepareRun, type RunParameters } from './prepare-run.ts'
import type { RunHandle } from './run-handle.ts'

/** Starts the run of a summary, which the last message asks for. It has no tools, and is not stored. */
export async function startSummary(context: RequestContext, parameters: RunParameters): Promise<RunHandle> {
  const { responseFormat: _format, toolChoice: _choice, ...rest } = parameters
  return startStateless(context, await prepareRun(context, { ...rest, clientTools: [], tools: [] }))
}

/** Returns messages with the request for a summary of them. */
export function withSummaryRequest(messages: readonly Message[], instructions?: string): readonly Message[] {
  return [...messages, instructions === undefined ? SUMMARY_REQUEST : { role: 'user', content: instructions }]
}

interface WrittenSummary {
  /** Null if the model has written none. */
  readonly text: string | null
  readonly usage: Usage
}

/** Has a model summarize messages before the run of the same request. */
export async function summarize(context: RequestContext, parameters: RunParameters): Promise<WrittenSummary> {
  // An Idempotency-Key stands for one run on each path.
  const { url, headers, signal } = context.request
  const request = new Request(`${new URL(url).origin}/v1/messages/summary`, { headers, signal })
  const handle = await startSummary({ ...context, request }, parameters)
  let end: RunFinished | undefined
  await handle.follow((event) => {
    if (event.type === 'run.finished') end = event
  }, 'end')
  const { finish, answer, usage }: Partial<RunFinished> = end ?? {}
  return { text: (finish === 'stop' && answer?.trim()) || null, usage: usage ?? NO_USAGE }
}
