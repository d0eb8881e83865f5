import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'
import type { Message } from '../../contract/message.ts'
import type { ClientTool } from '../../contract/run.ts'
import { eventsOf, isSettingsError } from '../ask.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import { Failure } from '../failure.ts'
import type { EvalCase } from './cases.ts'
import { match, type CallMatch, type CalledTool } from './match.ts'

/** One try of a case. */
export interface EvalAttempt extends CallMatch {
  readonly calls: readonly CalledTool[]
  /** The name of the model, and the tools that were on offer. */
  readonly model: string
  readonly tools: readonly string[]
  readonly usage: Usage
  readonly durationMs: number
  /** Why the model gave no answer. */
  readonly error?: string
}

export interface AttemptOptions {
  readonly edge: EdgeAddress
  readonly signal: AbortSignal
  readonly model?: string | undefined
  /** The tools on offer in place of the edge's. */
  readonly clientTools?: readonly ClientTool[] | undefined
}

const STAND_IN = 'Done. (This is a stand-in: the tool was not called.)'

/**
 * Asks the question of a case, and answers the calls of the model with stand-in results until all that are expected
 * have come, or another one has. The edge calls nothing. Throws a Failure if the edge refuses the run, or cannot reach
 * the model as it is set up.
 */
export async function attempt(each: EvalCase, options: AttemptOptions): Promise<EvalAttempt> {
  const startedAt = performance.now()
  const messages: Message[] = [{ role: 'user', content: each.question }]
  const calls: CalledTool[] = []
  let usage = NO_USAGE
  for (;;) {
    const round = await ask(messages, each, options)
    usage = addUsage(usage, round.usage)
    calls.push(...round.calls.map(({ tool, arguments: text }) => ({ tool, arguments: parsed(text) })))
    const result = match(calls, each.calls)
    if (round.calls.length === 0 || !result.isOpen || round.error !== undefined) {
      const { model, tools, error } = round
      const durationMs = Math.round(performance.now() - startedAt)
      const isFailed = error !== undefined && { isPassed: false, isChosen: false, error }
      return { ...result, calls, model, tools, usage, durationMs, ...isFailed }
    }
    messages.push({ role: 'assistant', content: round.text, calls: round.calls })
    for (const { callId, tool } of round.calls) {
      messages.push({ role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text: resultOf(tool, each) }] })
    }
  }
}

interface Round {
  readonly model: string
  readonly tools: readonly string[]
  readonly text: string
  readonly calls: readonly { readonly callId: string; readonly tool: string; readonly arguments: string }[]
  readonly usage: Usage
  readonly error?: string
}

/** Has the model answer once. */
async function ask(
  input: readonly Message[],
  { line, system, tools: selection }: EvalCase,
  { edge, signal, model: name, clientTools }: AttemptOptions,
): Promise<Round> {
  const tools = clientTools ? [] : selection
  const body = { input, execution: 'caller', model: name, system, tools, clientTools }
  const response = await send(edge, { method: 'POST', path: '/runs', body, accept: 'text/event-stream' }, signal)
  if (!response.ok) throw await refusal(`The question of line ${line} was refused`, response)
  let [model, offered, text]: [string, readonly string[], string] = [name ?? '', [], '']
  const calls: Round['calls'][number][] = []
  for await (const event of eventsOf(response)) {
    if (event.type === 'run.started') [model, offered] = [event.model, event.tools]
    else if (event.type === 'step.answered') text = event.text
    else if (event.type === 'call.requested')
      calls.push({ callId: event.callId, tool: event.tool, arguments: event.arguments })
    else if (event.type === 'run.finished') {
      const { usage, error } = event
      if (isSettingsError(error?.code))
        throw new Failure(`${model} did not answer: ${error?.message}`, 'Check the model’s settings at the edge.')
      return { model, tools: offered, text, calls, usage, ...(error && { error: `${error.code}: ${error.message}` }) }
    }
  }
  signal.throwIfAborted()
  throw new Failure(`The answer to the question of line ${line} broke off.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function resultOf(tool: string, { results }: EvalCase): string {
  const result = Object.hasOwn(results, tool) ? results[tool] : STAND_IN
  return typeof result === 'string' ? result : JSON.stringify(result)
}
