import type { RunFact } from '../../contract/event.ts'
import { isObject } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import type { ChatModel } from '../../contract/model.ts'
import { repair } from './repair.ts'
import type { Store } from '../store/store.ts'
import { notesOf, summarize, type Summary } from './summary.ts'

/** How many messages may leave the window before notes are made of them; until then, the model still sees them. */
const MOST_UNTOLD = 20
/** The most messages that notes are made of at a time; if there are more, only the newest. */
const MOST_READ = 400

/** What a model sees in place of the messages that have left its window. */
export interface Recalled {
  readonly messages: readonly Message[]
  /** Set if new notes were made. */
  readonly made?: RunFact
}

/**
 * Returns the notes on the messages before position `from`, and those messages that the notes do not cover yet. If
 * these are more than 20, `model` makes new notes, which are stored for later runs. If it fails, only the old notes are
 * returned.
 */
export async function recall(
  store: Store,
  model: ChatModel,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): Promise<Recalled> {
  const summary = summaryOf(store)
  const untold: Message[] = []
  for (const { position, message } of store.messages.newest(from, 'current')) {
    if (position < (summary?.upTo ?? 0) || untold.length >= MOST_READ) break
    // The window shows system messages all the same.
    if (message.role !== 'system') untold.unshift(message)
  }
  const notes = summary ? [notesOf(summary)] : []
  if (untold.length <= MOST_UNTOLD) return { messages: [...notes, ...repair(untold).messages] }
  const earlier = summary ? { earlier: summary.text } : {}
  const made = await summarize(model, { ...earlier, messages: untold }, signal)
  if (!made) return { messages: notes }
  const now: Summary = { text: made.text, upTo: from }
  store.setFact('summary', now)
  const fact: RunFact = { type: 'history.compacted', upTo: from, ...(made.usage && { usage: made.usage }) }
  return { messages: [notesOf(now)], made: fact }
}

function summaryOf(store: Store): Summary | undefined {
  const summary = store.fact('summary')
  if (!isObject(summary)) return undefined
  const { text, upTo } = summary
  return typeof text === 'string' && typeof upTo === 'number' ? { text, upTo } : undefined
}
