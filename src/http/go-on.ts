import { runIdOf } from '../contract/id.ts'
import type { Message } from '../contract/message.ts'
import type { CallAnswers } from '../wire/call-answer.ts'
import { accept, type RunBody } from './accept.ts'
import type { Asked } from './context.ts'
import { type Continued, continueRun, notAsked, runOfAnswers, systemOf } from './continue.ts'
import { keeperOf } from './keeper.ts'
import { launchHidden } from './launch.ts'
import { following, type Launched } from './launched.ts'
import { pagesOf } from './pages.ts'
import { startAlone } from './start.ts'

/** All that was said, and what of it is new: the answers, and what follows them. */
export interface Said {
  readonly answers: CallAnswers
  readonly input: readonly Message[]
  /** Where a run that waits for the answers is kept. Default: where nobody knows of it. */
  readonly conversation?: string | undefined
  /** Begins a run of its own. Default: one that leaves nothing behind. */
  readonly begin?: ((body: RunBody) => Promise<Launched>) | undefined
}

/**
 * Goes on without a conversation: with the run that is kept and waits for these answers, with what came of it where it has
 * them, or from where it failed; else from what was sent.
 */
export async function goOnAlone(
  asked: Asked,
  sent: RunBody,
  { answers, input, conversation, begin = async (said) => startAlone(asked, await accept(asked, said)) }: Said,
): Promise<Continued> {
  const isAlone = input.length === 0
  // Whoever goes on with the run says that anew.
  const told = sent.input.findIndex(({ role }) => role !== 'system')
  const system = systemOf(sent.input.slice(0, told), sent.system)
  const body = { ...sent, system, input: sent.input.slice(told) }
  const answering = { answers, input, body, retells: true }
  let runId = runOfAnswers(answers)
  /** All that the runs which failed were told and did, so that nothing runs twice. */
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
    for await (const page of pagesOf(keeper, {})) history.unshift(...page.map(({ message }) => message))
    // Who sends the same once more finds what went on from there.
    runId = await runIdOf(asked.caller.tenant, 'again', runId)
  }
  const said = history ? { ...body, input: [...history, ...input] } : body
  if (said.input.length === 0) throw notAsked()
  if (!history || !isAlone || runId === undefined) return { launched: await begin(said) }
  const { run, tools } = await accept(asked, said)
  return { launched: await launchHidden(asked.setup, { run: { ...run, runId }, tools }) }
}
