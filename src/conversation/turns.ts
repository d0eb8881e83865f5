import type { ConversationService, Reply, StoredMessage, Turn } from '../contract/conversation.ts'
import { isNewsType } from '../contract/event.ts'
import { typeOfLine } from '../wire/events.ts'
import { refusalOf } from './run/cancel-run.ts'
import { positionOf } from './store/messages.ts'
import type { Store } from './store/store.ts'

/** The most characters of the turns of a page, and of a journal: the platform passes at most 32 MiB to the edge. */
const MOST_OF_PAGE = 4 * 1024 * 1024
const MOST_OF_JOURNAL = 8 * 1024 * 1024

/** Returns the newest turns of a conversation before that of a message, oldest first. */
export function turnsBefore(
  store: Store,
  { before, most }: Parameters<ConversationService['turns']>[0],
): Reply<{ readonly turns: readonly Turn[] }> {
  const end = before === undefined ? Number.MAX_SAFE_INTEGER : startOf(store, before)
  if (end === undefined) return refusalOf('unknown_message', 'This conversation has no message with this id.')
  const turns: Turn[] = []
  let size = 0
  let count = 0
  for (const messages of groupByRun(store, end)) {
    const turn = turnOf(store, messages)
    // The messages of the user, and one answer.
    count += messages.filter(({ message }) => message.role === 'user').length + 1
    if (turns.length > 0 && count > most) break
    turns.push(turn)
    size += JSON.stringify(turn).length
    if (size > MOST_OF_PAGE) break
  }
  return { ok: true, turns: turns.reverse() }
}

/** Returns the position at which the turn of a message begins; undefined if there is no such message. */
function startOf(store: Store, id: string): number | undefined {
  const place = store.runs.row(id)?.place
  return place === undefined ? store.messages.startOf(id) : positionOf(place)
}

/** Reads the messages that models may see before a position, those of each run together, the newest run first. */
function* groupByRun(store: Store, before: number): Generator<readonly StoredMessage[]> {
  let group: StoredMessage[] = []
  for (let end = before, isLast = false; !isLast;) {
    const page = store.messages.page(end, PAGE).reverse()
    isLast = page.length === 0
    for (const message of page) {
      end = message.position
      if (message.replaced) continue
      if (group[0] && group[0].run !== message.run) {
        yield group.reverse()
        group = []
      }
      group.push(message)
    }
  }
  if (group.length > 0) yield group.reverse()
}

const PAGE = 100

function turnOf(store: Store, messages: readonly StoredMessage[]): Turn {
  const run = messages[0]?.run ?? ''
  return { run, status: store.runs.row(run)?.status, messages, facts: factsOf(store, run) }
}

/**
 * Returns the facts of a run, and the news of an answer that broke off as the run failed: nothing else has its text. They are
 * deleted in time.
 */
function factsOf(store: Store, run: string): readonly string[] {
  const facts: string[] = []
  let news: string[] = []
  let size = 0
  for (const { lines, isComplete } of store.events.after(run, 0)) {
    if (!isComplete) return []
    for (const line of lines) {
      const type = typeOfLine(line)
      size += line.length
      if (isNewsType(type)) news.push(line)
      else {
        if (type === 'run.finished') facts.push(...news)
        if (ATTEMPT.has(type)) news = []
        facts.push(line)
      }
      if (size > MOST_OF_JOURNAL) return []
    }
  }
  return facts
}

/** The events with which an attempt at an answer begins or ends. */
const ATTEMPT: ReadonlySet<string> = new Set(['step.started', 'step.restarted', 'answer.rejected', 'step.answered'])
