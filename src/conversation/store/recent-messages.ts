import type { StoredMessage } from '../../contract/conversation.ts'
import { RecentMap } from '../../contract/recent-map.ts'

/** The most characters of messages that the conversations of an isolate hold in memory together. */
const MOST_CHARACTERS = 4 * 1024 * 1024

/** The messages at the positions from `from` to before `to` that a model may see, the newest first. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly entries: readonly Entry[]
}

interface Entry {
  readonly message: StoredMessage
  /** The characters of the message. */
  readonly size: number
}

/**
 * The stretches of all conversations of this isolate. The keys are symbols, which do not keep conversations in memory.
 */
const stretches = new RecentMap<symbol, Stretch>({ most: MOST_CHARACTERS })

/** Reads the readable messages from a position to before another lazily, the newest first. */
type Read = (from: number, to: number) => Iterable<StoredMessage>

/**
 * The newest messages of a conversation in memory, so that its next run reads from the database only what its last run
 * has added. The same message is the same object in each run: what is cached for it, such as its encoding, stays valid.
 */
export class RecentMessages {
  readonly #key = Symbol('messages')
  readonly #read: Read

  constructor(read: Read) {
    this.#read = read
  }

  /** Reads the messages before a position lazily, the newest first, and caches them. */
  *before(to: number): Generator<StoredMessage> {
    const stretch = stretches.get(this.#key)
    if (stretch && to < stretch.to) return yield* this.#read(0, to)
    const entries: Entry[] = []
    try {
      for (const entry of this.#entries(stretch, to)) {
        entries.push(entry)
        yield entry.message
      }
    } finally {
      const from = entries.at(-1)?.message.position ?? to
      const size = entries.reduce((sum, entry) => sum + entry.size, 0)
      stretches.set(this.#key, { from, to, entries }, size)
    }
  }

  *#entries(stretch: Stretch | undefined, to: number): Generator<Entry> {
    const withSize = (message: StoredMessage) => ({ message, size: JSON.stringify(message).length })
    for (const message of this.#read(stretch?.to ?? 0, to)) yield withSize(message)
    if (!stretch) return
    yield* stretch.entries
    for (const message of this.#read(0, stretch.from)) yield withSize(message)
  }

  /** Clears the cache, because rows before the end of the stretch were changed. */
  forget(): void {
    stretches.delete(this.#key)
  }

  /** Clears the cache if a new message is before the end of the stretch. */
  noteAdded(position: number): void {
    if (position < (stretches.get(this.#key)?.to ?? Infinity)) this.forget()
  }
}
