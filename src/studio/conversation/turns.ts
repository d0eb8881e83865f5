import type { RunSummary, StoredMessage } from '../../contract/conversation.ts'
import { contentText } from '../../contract/message.ts'
import type { CallView, StepView } from '../run/run-view.ts'

/** A turn of a conversation: what was asked, and what the messages tell of the answer. */
export interface ConversationTurn {
  /** The run, or the one that the messages were copied from. */
  readonly run: string
  readonly question: string
  readonly steps: readonly StepView[]
  /** Absent if the messages were copied from another conversation, whose run it is. */
  readonly summary?: RunSummary
  /** The position before the turn, and of its last message. */
  readonly from?: number
  readonly last?: number
  /** Whether a fork can begin after it: a turn ends with an answer, or with a question that has none yet. */
  readonly canFork: boolean
  /** Models no longer see it. */
  readonly isReplaced: boolean
}

/**
 * Makes the turns of a conversation from its messages and runs, oldest first. With `hasMore` there are older runs, so
 * that messages of other runs are theirs; else they were copied from the conversation that this one was forked from.
 */
export function turnsOf(
  messages: readonly StoredMessage[],
  runs: readonly RunSummary[],
  hasMore = false,
): ConversationTurn[] {
  const groups = new Map<string, StoredMessage[]>()
  for (const message of messages) groups.set(message.run, [...(groups.get(message.run) ?? []), message])
  const runsById = new Map(runs.map((run) => [run.id, run]))
  const copied = hasMore ? [] : [...groups].filter(([run]) => !runsById.has(run))
  return [
    ...copied.map(([run, group]) => turnOf(run, group, undefined)),
    ...runs.map((run) => turnOf(run.id, groups.get(run.id) ?? [], run)),
  ]
}

function turnOf(run: string, group: readonly StoredMessage[], summary: RunSummary | undefined): ConversationTurn {
  const [first, last] = [group[0], group.at(-1)]
  const questions = group.flatMap(({ message }) => (message.role === 'user' ? contentText(message.content) : []))
  const end = last?.message
  return {
    run,
    question: questions.join('\n\n'),
    steps: stepsOf(group),
    ...(summary && { summary }),
    ...(first && last && { from: first.position, last: last.position }),
    canFork: end !== undefined && (end.role === 'user' || (end.role === 'assistant' && !end.calls)),
    isReplaced: group.some(({ replaced }) => replaced === true),
  }
}

function stepsOf(group: readonly StoredMessage[]): StepView[] {
  const outcomes = new Map(group.flatMap(({ message }) => (message.role === 'tool' ? [[message.callId, message]] : [])))
  const answers = group.flatMap(({ message }) => (message.role === 'assistant' ? [message] : []))
  return answers.map(({ content, reasoning = '', calls = [], citations }, index) => ({
    number: index + 1,
    attempt: 1,
    text: content,
    reasoning,
    ...(citations && { citations }),
    isAnswered: true,
    rejected: [],
    lostAttempts: [],
    pauses: [],
    calls: calls.map(({ callId, tool, arguments: text }): CallView => {
      const outcome = outcomes.get(callId)
      const state = outcome === undefined ? 'proposed' : outcome.ok ? 'ok' : 'failed'
      return {
        id: callId,
        tool,
        arguments: text,
        state,
        attempts: [],
        waits: [],
        ...(outcome && { content: outcome.content }),
      }
    }),
  }))
}
