import type { StoredMessage } from '../contract/conversation.ts'
import { isObject } from '../contract/json.ts'
import type { Message } from '../contract/message.ts'
import type { Ground } from './ground.ts'
import type { WholeTable } from './wholes.ts'

/** Messages of a run that a position has room for. */
export const MESSAGES_A_RUN = 1_000_000
/** No run has this place or a later one. */
export const LAST_PLACE = Math.floor(Number.MAX_SAFE_INTEGER / MESSAGES_A_RUN)
/** Messages that are written at a time: a statement has at most 100 values. */
const ROWS = 20
/** Messages that are read at a time. */
const PAGE = 100
/** Characters of messages that a page has at the most, or a message more. */
const MOST_CHARACTERS = 4 * 1024 * 1024

const COLUMNS = 'position, run, message, kind'

/** Which messages are looked at: every one, those that a model may see, or of these what was said without tools. */
export type Choice = 'all' | 'current' | 'said'

const CHOICES: Readonly<Record<Choice, string>> = {
  all: '',
  current: "AND kind <> 'old'",
  said: "AND kind IN ('user', 'answer')",
}

/** The messages of a conversation, in their places. */
export class MessageTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  append(place: number, run: string, from: number, messages: readonly Message[]): void {
    this.add(messages.map((message, index) => ({ position: positionOf(place) + from + index, run, message })))
  }

  /** Puts messages in their places; one that is there already stays as it is. */
  add(messages: readonly StoredMessage[]): void {
    for (let at = 0; at < messages.length; at += ROWS) {
      const rows = messages.slice(at, at + ROWS)
      const values = rows.flatMap(({ position, run, message }) => [
        position,
        run,
        this.#ground.chunks.keep(JSON.stringify(message)),
        kindOf(message),
      ])
      const places = rows.map(() => '(?, ?, ?, ?)').join(', ')
      this.#ground.rows(`INSERT OR IGNORE INTO messages (${COLUMNS}) VALUES ${places}`, ...values)
    }
  }

  /** The run of the first message from a place on that a model may see. */
  firstRun(place: number): string | undefined {
    const query = "SELECT run FROM messages WHERE position >= ? AND kind <> 'old' ORDER BY position LIMIT 1"
    return this.#ground.rows<{ run: string }>(query, positionOf(place))[0]?.run
  }

  /** How many messages a run has. */
  countOf(place: number): number {
    const query = 'SELECT max(position) AS last FROM messages WHERE position >= ? AND position < ?'
    const [row] = this.#ground.rows<{ last: number | null }>(query, positionOf(place), positionOf(place + 1))
    return row?.last == null ? 0 : row.last + 1 - positionOf(place)
  }

  /** The newest messages before a position, oldest first: fewer than `limit` where they are very long. */
  page(before: number, limit: number, wholes?: WholeTable | false): StoredMessage[] {
    const page: StoredMessage[] = []
    let size = 0
    for (const stored of this.newest(before)) {
      const { message } = stored
      const each = wholes && message.role === 'tool' ? { ...stored, whole: wholes.of(message.callId) } : stored
      page.push(each)
      size += JSON.stringify(each).length
      if (page.length >= limit || size > MOST_CHARACTERS) break
    }
    return page.reverse()
  }

  /** The messages before a position, newest first, read as they are asked for; those that cannot be read are left out. */
  newest(before: number, choice: Choice = 'all'): Generator<StoredMessage> {
    return this.#each(`position < ? ${CHOICES[choice]} ORDER BY position DESC`, before)
  }

  /** All messages, oldest first. */
  all(): Generator<StoredMessage> {
    return this.#each('position > ? ORDER BY position', -1)
  }

  *#each(where: string, from: number): Generator<StoredMessage> {
    const query = `SELECT ${COLUMNS} FROM messages WHERE ${where} LIMIT ${PAGE}`
    for (let at = from; ;) {
      const rows = this.#ground.rows<MessageRow>(query, at)
      for (const row of rows) {
        at = row.position
        const message = this.#read(row)
        if (message) yield message
      }
      if (rows.length < PAGE) return
    }
  }

  /** The newest system messages before a position, oldest first. */
  system(before: number, limit: number): StoredMessage[] {
    const query = `SELECT ${COLUMNS} FROM messages WHERE kind = 'system' AND position < ? ORDER BY position DESC LIMIT ?`
    const rows = this.#ground.rows<MessageRow>(query, before, limit).reverse()
    return rows.flatMap((row) => this.#read(row) ?? [])
  }

  #read({ position, run, message: kept, kind }: MessageRow): StoredMessage | undefined {
    const message = this.#ground.value(kept, { table: 'messages', key: position })
    if (isMessage(message)) return { position, run, message, ...(kind === 'old' && { replaced: true }) }
    this.#ground.rows('DELETE FROM messages WHERE position = ?', position)
    return undefined
  }

  /** Whether the turn of the run at a place is out of what models see. */
  isRetired(place: number): boolean {
    const query = "SELECT 1 FROM messages WHERE position >= ? AND position < ? AND kind = 'old' LIMIT 1"
    return this.#ground.rows(query, positionOf(place), positionOf(place + 1)).length > 0
  }

  /** Takes messages out of what models see: those of runs from one place to before another. */
  retire(from: number, to: number): void {
    const query = "UPDATE messages SET kind = 'old' WHERE position >= ? AND position < ?"
    this.#ground.rows(query, positionOf(from), positionOf(to))
  }
}

interface MessageRow extends Record<string, SqlStorageValue> {
  readonly position: number
  readonly run: string
  readonly message: string
  readonly kind: string
}

/** Where the messages of a run begin. */
export function positionOf(place: number): number {
  return place * MESSAGES_A_RUN
}

function kindOf(message: Message): string {
  if (message.role === 'assistant') return message.calls ? 'work' : 'answer'
  return message.role === 'tool' ? 'work' : message.role
}

/** Rows are written by this object alone: an object with a role is taken for the message that it was. */
function isMessage(value: unknown): value is Message {
  return isObject(value) && typeof value.role === 'string'
}
