import type { RunRecord } from './run.ts'

/** Notifies URLs of runs that end, wait for an approval, or are parked. */
export interface Webhooks {
  /** Returns why a webhook may not go to a URL; undefined if it may. */
  refusal(url: string): string | undefined
  /** Returns the body of the message on a run that has ended, waits for an approval or is parked; else undefined. */
  bodyOf(run: RunRecord, now: number): string | undefined
  /** Sends the messages that are due. One that was not accepted is sent again later, or given up. */
  send(outbox: MessageOutbox, url: string): Promise<void>
}

/** A message that is to be sent. */
export interface OutboxMessage {
  /** The id of the event that the message reports, and so the same at every attempt. */
  readonly id: string
  readonly body: string
  /** The number of attempts made so far. */
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly due: number
}

/** The messages of a conversation that are to be sent. Times are in epoch milliseconds. */
export interface MessageOutbox {
  dueMessages(by: number): readonly OutboxMessage[]
  drop(message: OutboxMessage): void
  delay(message: OutboxMessage, next: number): void
}
