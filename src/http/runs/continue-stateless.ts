import { deriveRunId } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import { answersOf, type CallAnswers, newPart } from '../../wire/client/call-answer.ts'
import { prepareRun, type RunParameters } from './prepare-run.ts'
import type { RequestContext } from '../request-context.ts'
import { type ContinuedRun, continueRun, nothingToAnswer, runOfAnswers, systemOf, takeTurn } from './continue-run.ts'
import { conversationStubOfRun } from './conversation-stub.ts'
import { startEphemeral } from './start-run.ts'
import { type RunHandle, storedRunHandle } from './run-handle.ts'
import { messagePages } from './copy-messages.ts'
import { type ConversationTarget, startStateless } from './place-run.ts'

/** The new part of a request that sends its whole history: answers to calls, and the messages that follow them. */
export interface StatelessTurn {
  readonly answers: CallAnswers
  readonly input: readonly Message[]
  /** The conversation of the run that waits for the answers. Default: the run's hidden conversation. */
  readonly conversation?: string | undefined
  /** Starts a new run. Default: as `startStateless` does. */
  readonly start?: ((parameters: RunParameters) => Promise<RunHandle>) | undefined
}

/**
 * Answers a request that names no conversation. If a stored run waits for the answers, continues it; if it has them
 * already, sends its events again; if it failed, starts a new run from where it ended. Otherwise starts a new run from
 * the messages of the request.
 */
export async function continueStateless(
  context: RequestContext,
  parameters: RunParameters,
  {
    answers,
    input,
    conversation,
    start = async (newParameters) => startStateless(context, await prepareRun(context, newParameters)),
  }: StatelessTurn,
): Promise<ContinuedRun> {
  const hasNoInput = input.length === 0
  // The leading system messages become the system prompt, which a request that continues the run sends again.
  const systemCount = Math.max(
    0,
    parameters.input.findIndex(({ role }) => role !== 'system'),
  )
  const system = systemOf(parameters.input.slice(0, systemCount), parameters.system)
  const turn = { ...parameters, system, input: parameters.input.slice(systemCount) }
  const answerRequest = { answers, input, parameters: turn, stateless: true }
  let runId = runOfAnswers(answers)
  /** All messages of the failed run: the new run starts from them, so that no call is performed twice. */
  let history: Message[] | undefined
  while (runId !== undefined) {
    const stub = conversationStubOfRun(context, { runId, conversation })
    const reply = await stub.record(runId, 0)
    if (!reply.ok) break
    if (reply.record.status !== 'failed') {
      if (history && hasNoInput) return { handle: storedRunHandle(context, { runId, conversation, after: 0 }) }
      const continuedRun = history ? undefined : await continueRun(context, { runId, conversation }, answerRequest)
      if (continuedRun) return continuedRun
      break
    }
    history = []
    conversation = undefined
    for await (const page of messagePages(stub, {})) {
      history.unshift(...page.flatMap(({ message, replaced }) => (replaced ? [] : message)))
    }
    // The new run's id follows from the failed run's, so that the same request, sent once more, finds the new run.
    runId = await deriveRunId(context.caller.tenant, 'again', runId)
  }
  const newParameters = history ? { ...turn, input: [...history, ...input] } : turn
  if (newParameters.input.length === 0) throw nothingToAnswer()
  if (!history || !hasNoInput || runId === undefined) return { handle: await start(newParameters) }
  const { run, tools } = await prepareRun(context, newParameters)
  return { handle: await startEphemeral(context, { run: { ...run, runId }, tools }) }
}

/**
 * Starts or continues a run by a request that sends its whole history. In a conversation, only the messages after the
 * last answer are new; results among them continue the run that waits for them.
 */
export async function takeMessages(
  context: RequestContext,
  parameters: RunParameters,
  target: ConversationTarget | undefined,
): Promise<ContinuedRun> {
  const { results, input } = newPart(parameters.input)
  const answers = answersOf(results)
  if (!target) return continueStateless(context, parameters, { answers, input })
  const system = systemOf(parameters.input)
  return takeTurn(context, { ...target, answers, parameters: { ...parameters, input, system } })
}
