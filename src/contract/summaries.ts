import type { PlacedMessage } from './context.ts'
import type { RunFact } from './event.ts'
import type { Message } from './message.ts'
import type { ChatModel } from './model.ts'
import type { Usage } from './usage.ts'

/** Makes notes on the messages of a conversation that have left its window. */
export interface Summaries {
  /**
   * Returns the notes on the messages before position `from`, and those messages that the notes do not cover yet. `model`
   * makes new notes if these are many. `tokens`: the most that its prompt may have, as estimated.
   */
  context(
    store: SummaryStore,
    model: ChatModel,
    options: { readonly from: number; readonly tokens: number; readonly signal: AbortSignal },
  ): Promise<SummaryContext>
  /**
   * Returns a summary of messages, merged with the earlier summary, which leaves room for others in a prompt of so many
   * tokens; undefined if the model fails.
   */
  summarize(
    model: ChatModel,
    options: { readonly earlier?: string | undefined; readonly messages: readonly Message[]; readonly tokens: number },
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly usage?: Usage } | undefined>
  /** Returns the notes on the messages before position `from` as they are, and those messages that they do not cover. */
  earlier(store: SummaryStore, options: { readonly from: number; readonly tokens: number }): readonly PlacedMessage[]
}

/** What a model sees in place of the messages that have left its window. */
export interface SummaryContext {
  readonly messages: readonly PlacedMessage[]
  /** Set if new notes were made. */
  readonly compaction?: RunFact
}

/** Notes on the messages that have left the window. */
export interface Summary {
  readonly text: string
  /** The position of the first message that the notes do not cover. */
  readonly upTo: number
}

/** The part of a conversation's database that summaries use. */
export interface SummaryStore {
  readonly messages: {
    newest(before: number, kind: 'current'): Iterable<{ readonly position: number; readonly message: Message }>
  }
  meta(name: 'summary'): unknown
  setMeta(name: 'summary', summary: Summary): void
}
