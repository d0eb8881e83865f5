import { runIdOf } from '../../contract/id.ts'
import type { Message } from '../../contract/message.ts'
import type { CallAnswers } from '../../wire/client/call-answer.ts'
import { accept, type RunBody } from './prepare-run.ts'
import type { Asked } from '../context.ts'
import { type Continued, continueRun, notAsked, runOfAnswers, systemOf } from './continue-run.ts'
import { keeperOf } from './conversation-stub.ts'
import { launchHidden } from './start-run.ts'
import { following, type Launched } from './run-handle.ts'
import { pagesOf } from './message-pages.ts'
import { startAlone } from './place-run.ts'

/** The new part of a request that sends its whole history: answers to calls, and the messages that follow them. */
export interface Said {
  readonly answers: CallAnswers
  readonly input: readonly Message[]
  /** The conversation of the run that waits for the answers. Default: the run's hidden conversation. */
  readonly conversation?: string | undefined
  /** Starts a new run. Default: as `startAlone` does. */
  readonly begin?: ((body: RunBody) => Promise<Launched>) | undefined
}

/**
 * Answers a request that names no conversation. If a stored run waits for the answers, it goes on with them; if it has
 * them already, its events are sent once more; if it failed, a new run goes on from there. Otherwise a new run starts
 * from the messages that were sent.
 */
export async function continueAlone(
  asked: Asked,
  sent: RunBody,
  { answers, input, conversation, begin = async (said) => startAlone(asked, await accept(asked, said)) }: Said,
): Promise<Continued> {
  const isAlone = input.length === 0
  // The leading system messages become the system prompt, which a request that continues the run sends again.
  const told = Math.max(
    0,
    sent.input.findIndex(({ role }) => role !== 'system'),
  )
  const system = systemOf(sent.input.slice(0, told), sent.system)
  const body = { ...sent, system, input: sent.input.slice(told) }
  const answering = { answers, input, body, stateless: true }
  let runId = runOfAnswers(answers)
  /** All messages of the failed run, from which the new run goes on, so that no call is performed twice. */
  let history: Message[] | undefined
  while (runId !== undefined) {
    const keeper = keeperOf(asked, { runId, conversation })
    const reply = await keeper.record(runId, 0)
    if (!reply.ok) break
    if (reply.record.status !== 'failed') {
      if (history && isAlone) return { launched: following(asked, { runId, conversation, after: 0 }) }
      const continued = history ? undefined : await continueRun(asked, { runId, conversation }, answering)
      if (continued) return continued
      break
    }
    history = []
    conversation = undefined
    for await (const page of pagesOf(keeper, {})) {
      history.unshift(...page.flatMap(({ message, replaced }) => (replaced ? [] : message)))
    }
    // The new run's id follows from the failed run's, so that the same request, sent once more, finds the new run.
    runId = await runIdOf(asked.caller.tenant, 'again', runId)
  }
  const said = history ? { ...body, input: [...history, ...input] } : body
  if (said.input.length === 0) throw notAsked()
  if (!history || !isAlone || runId === undefined) return { launched: await begin(said) }
  const { run, tools } = await accept(asked, said)
  return { launched: await launchHidden(asked.setup, { run: { ...run, runId }, tools }) }
}
