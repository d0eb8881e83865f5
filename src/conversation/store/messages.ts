import type { StoredMessage } from '../../contract/conversation.ts'
import { type Content, contentText, type Message } from '../../contract/message.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Database } from './database.ts'
import { isContent, isMessage } from './shapes.ts'
import { isObject } from '../../contract/json.ts'
import type { RunRecord } from '../../contract/run.ts'
import type { ToolOutcome } from '../../contract/tool.ts'

/** The number of positions that are reserved for the messages of each run. */
export const MESSAGES_A_RUN = 1_000_000
/** No run has this place or a later one. */
export const LAST_PLACE = Math.floor(Number.MAX_SAFE_INTEGER / MESSAGES_A_RUN)
/** The most messages per INSERT: a statement may have at most 100 parameters. */
const ROWS = 20
/** The number of messages that are read per query. */
const PAGE = 100
/** The number of characters after which a page ends; its last message may exceed it. */
const MOST_CHARACTERS = 4 * 1024 * 1024

/** A longer message is cut: the platform passes at most 32 MiB between the object and the edge. */
const MOST_MESSAGE_CHARACTERS = 8 * 1024 * 1024
const CUT_CHARACTERS = 1024 * 1024

const COLUMNS = 'position, run, message, kind'

/** Which messages to read: all, those that a model may see, or of these only user messages and final answers. */
type MessageSelection = 'all' | 'current' | 'answers'

const SELECTIONS: Readonly<Record<MessageSelection, string>> = {
  all: '',
  current: "AND kind <> 'old'",
  answers: "AND kind IN ('user', 'answer')",
}

/** The messages of a conversation. A message's position follows from the place of its run. */
export class MessageTable {
  readonly #database: Database
  readonly #recent = new RecentMessages((from, to) => this.#each(SELECTIONS.current, { from, to }))

  constructor(database: Database) {
    this.#database = database
  }

  /** Forgets what is cached, after a transaction that failed or after everything was deleted. */
  forget(): void {
    this.#recent.forget()
  }

  append(place: number, run: string, from: number, messages: readonly Message[]): void {
    this.add(messages.map((message, index) => ({ position: positionOf(place) + from + index, run, message })))
  }

  /** Stores messages at their positions. A position that is already taken is left unchanged. */
  add(messages: readonly StoredMessage[]): void {
    for (let at = 0; at < messages.length; at += ROWS) {
      const rows = messages.slice(at, at + ROWS)
      const values = rows.flatMap(({ position, run, message }) => [
        position,
        run,
        this.#database.chunks.keep(JSON.stringify(message)),
        messageKind(message),
      ])
      const places = rows.map(() => '(?, ?, ?, ?)').join(', ')
      this.#recent.noteAdded(Math.min(...rows.map(({ position }) => position)))
      this.#database.rows(`INSERT OR IGNORE INTO messages (${COLUMNS}) VALUES ${places}`, ...values)
    }
  }

  /** Returns the run of the first message, from a place on, that a model may see. */
  firstRun(place: number): string | undefined {
    const query = "SELECT run FROM messages WHERE position >= ? AND kind <> 'old' ORDER BY position LIMIT 1"
    return this.#database.rows<{ run: string }>(query, positionOf(place))[0]?.run
  }

  /** Returns the position of the first message of a turn: that of a run, or that of a message which a client has named so. */
  startOf(id: string): number | undefined {
    const [row] = this.#database.rows<{ first: number | null }>(
      'SELECT min(position) AS first FROM messages WHERE run = ?',
      id,
    )
    if (row?.first != null) return row.first
    const query = `SELECT ${COLUMNS} FROM messages WHERE kind = 'user' AND (instr(message, ?) > 0 OR message LIKE '@%')
      ORDER BY position DESC`
    for (const user of this.#database.rows<MessageRow>(query, JSON.stringify(id).slice(1, -1))) {
      const message = this.#read(user)?.message
      if (message?.role === 'user' && message.display?.id === id) return this.startOf(user.run)
    }
    return undefined
  }

  /** Returns the number of messages of the run at a place. */
  countOf(place: number): number {
    const query = 'SELECT max(position) AS last FROM messages WHERE position >= ? AND position < ?'
    const [row] = this.#database.rows<{ last: number | null }>(query, positionOf(place), positionOf(place + 1))
    return row?.last == null ? 0 : row.last + 1 - positionOf(place)
  }

  /** Returns the newest messages before a position, oldest first; fewer than `limit` if they are very long. */
  page(before: number, limit: number, fullResults?: FullResultTable | false): StoredMessage[] {
    const page: StoredMessage[] = []
    let size = 0
    for (const storedMessage of this.newest(before)) {
      const { message } = storedMessage
      const each =
        fullResults && message.role === 'tool'
          ? { ...storedMessage, fullResult: fullResults.of(message.callId) }
          : storedMessage
      const length = JSON.stringify(each).length
      page.push(length > MOST_MESSAGE_CHARACTERS ? cutMessage(each) : each)
      size += length
      if (page.length >= limit || size > MOST_CHARACTERS) break
    }
    return page.reverse()
  }

  /** Reads the messages before a position lazily, newest first. Unreadable ones are left out. */
  newest(before: number, selection: MessageSelection = 'all'): Generator<StoredMessage> {
    if (selection === 'current') return this.#recent.before(before)
    return this.#each(SELECTIONS[selection], { from: 0, to: before })
  }

  /** Reads the messages from a position to before another lazily, newest first, and caches none of them. */
  between(from: number, to: number, selection: MessageSelection): Generator<StoredMessage> {
    return this.#each(SELECTIONS[selection], { from, to })
  }

  /**
   * Returns the messages about a call that a model may see, the newest first: its result, and the answer that asked for it.
   * `place`: that of the run. Default: all messages are searched.
   */
  about(callId: string, place?: number): readonly Message[] {
    const [from, to] = place === undefined ? [0, positionOf(LAST_PLACE)] : [positionOf(place), positionOf(place + 1)]
    const escaped = JSON.stringify(callId).slice(1, -1)
    // The parts of long messages are elsewhere.
    const query = `SELECT ${COLUMNS} FROM messages WHERE position >= ? AND position < ? AND kind = 'work'
      AND (instr(message, ?) > 0 OR message LIKE '@%') ORDER BY position DESC`
    const isAbout = (message: Message) =>
      (message.role === 'tool' && message.callId === callId) ||
      (message.role === 'assistant' && message.calls?.some((call) => call.callId === callId) === true)
    return this.#database.rows<MessageRow>(query, from, to, escaped).flatMap((row) => {
      const message = this.#read(row)?.message
      return message && isAbout(message) ? [message] : []
    })
  }

  /** Reads all messages lazily, oldest first. Unreadable ones are left out. */
  all(): Generator<StoredMessage> {
    return this.#pages(`position > ? ORDER BY position`, -1)
  }

  /** Reads the messages from a position to before another lazily, newest first. */
  #each(selection: string, { from, to }: { from: number; to: number }): Generator<StoredMessage> {
    return this.#pages(`position < ? AND position >= ? ${selection} ORDER BY position DESC`, to, from)
  }

  /** Reads pages of messages lazily. The first value of the condition is the position at which the page before ended. */
  *#pages(where: string, start: number, ...values: number[]): Generator<StoredMessage> {
    const query = `SELECT ${COLUMNS} FROM messages WHERE ${where} LIMIT ${PAGE}`
    for (let at = start; ;) {
      const rows = this.#database.rows<MessageRow>(query, at, ...values)
      for (const row of rows) {
        at = row.position
        const message = this.#read(row)
        if (message) yield message
      }
      if (rows.length < PAGE) return
    }
  }

  /** Returns the newest system messages before a position, oldest first. */
  system(before: number, limit: number): StoredMessage[] {
    const query = `SELECT ${COLUMNS} FROM messages WHERE kind = 'system' AND position < ? ORDER BY position DESC LIMIT ?`
    const rows = this.#database.rows<MessageRow>(query, before, limit).reverse()
    return rows.flatMap((row) => this.#read(row) ?? [])
  }

  #read({ position, run, message: column, kind }: MessageRow): StoredMessage | undefined {
    const message = this.#database.value(column, { table: 'messages', key: position }, isMessage)
    if (message) return { position, run, message, ...(kind === 'old' && { replaced: true }) }
    this.#database.rows('DELETE FROM messages WHERE position = ?', position)
    return undefined
  }

  /** Whether a model may see any message before a position, beside system messages. */
  hasBefore(position: number): boolean {
    const query = `SELECT 1 FROM messages WHERE position < ? AND kind NOT IN ('old', 'system')
      ORDER BY position DESC LIMIT 1`
    return this.#database.rows(query, position).length > 0
  }

  /** Whether the turn of the run at a place is hidden from models. */
  isRetired(place: number): boolean {
    const query = "SELECT 1 FROM messages WHERE position >= ? AND position < ? AND kind = 'old' LIMIT 1"
    return this.#database.rows(query, positionOf(place), positionOf(place + 1)).length > 0
  }

  /** Hides from models the messages of the runs at places from `from` to before `to`. */
  retire(from: number, to: number): void {
    this.#recent.forget()
    const query = "UPDATE messages SET kind = 'old' WHERE position >= ? AND position < ?"
    this.#database.rows(query, positionOf(from), positionOf(to))
  }
}

/** Returns the beginning of a message that is too long to be passed on. Arguments of its calls are left out. */
function cutMessage({ position, run, message, replaced }: StoredMessage): StoredMessage {
  const cut = (text: string) => text.slice(0, CUT_CHARACTERS)
  const { role } = message
  const rest = { position, run, ...(replaced && { replaced }), isCut: true } as const
  if (role === 'system') return { ...rest, message: { role, content: cut(message.content) } }
  if (role === 'assistant') {
    const calls = message.calls?.map(({ callId, tool }) => ({ callId, tool, arguments: '{}' }))
    return { ...rest, message: { role, content: cut(message.content), calls } }
  }
  const content = [{ type: 'text', text: cut(contentText(message.content)) }] as const
  return { ...rest, message: { ...message, content } }
}

interface MessageRow extends Record<string, SqlStorageValue> {
  readonly position: number
  readonly run: string
  readonly message: string
  readonly kind: string
}

/** Returns the position of the first message of the run at a place. */
export function positionOf(place: number): number {
  return place * MESSAGES_A_RUN
}

/** Returns what a message is in the table. */
export function messageKind(message: Message): string {
  if (message.role === 'assistant') return message.calls ? 'work' : 'answer'
  return message.role === 'tool' ? 'work' : message.role
}

/** The most characters of messages that the conversations of an isolate hold in memory together. */
const MOST_RECENT_CHARACTERS = 4 * 1024 * 1024

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
const stretches = new RecentMap<symbol, Stretch>({ most: MOST_RECENT_CHARACTERS })

/** Reads the readable messages from a position to before another lazily, the newest first. */
type Read = (from: number, to: number) => Iterable<StoredMessage>

/**
 * The newest messages of a conversation in memory, so that its next run reads from the database only what its last run
 * has added. The same message is the same object in each run: what is cached for it, such as its encoding, stays valid.
 */
class RecentMessages {
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

/** Data of calls outside the journal: complete results of which models see a part, and outcomes that came late. */
export class FullResultTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores the complete result of a call. */
  keep(call: string, content: readonly Content[]): void {
    const column = this.#database.chunks.keep(JSON.stringify(content))
    this.#database.rows('INSERT OR REPLACE INTO wholes VALUES (?, ?)', call, column)
  }

  /** Returns the complete result of a call, or notes that were put aside. Models may ask for any id. */
  of(call: string): readonly Content[] | undefined {
    if (OTHER_KEY.test(call)) return undefined
    const [row] = this.#database.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', call)
    return row && this.#database.value(row.content, { table: 'wholes', key: call }, isContent)
  }

  /**
   * Stores whether a call succeeded whose outcome came too late to count: the first one of each call. Nobody reads its
   * content. Returns whether it is the first.
   */
  addLate(run: string, call: string, ok: boolean): boolean {
    const query = 'INSERT OR IGNORE INTO wholes VALUES (?, ?) RETURNING call'
    return this.#database.rows(query, `${latePrefix(run)}${call}`, JSON.stringify({ ok })).length > 0
  }

  /** Stores the outcome that was reported for a call of a run. */
  keepReport(run: string, call: string, outcome: ToolOutcome): void {
    const column = this.#database.chunks.keep(JSON.stringify(outcome))
    this.#database.rows('INSERT OR IGNORE INTO wholes VALUES (?, ?)', `${reportPrefix(run)}${call}`, column)
  }

  /** Returns the outcome that was reported for a call of a run; undefined if there is none. */
  report(run: string, call: string): ToolOutcome | undefined {
    const key = `${reportPrefix(run)}${call}`
    const [row] = this.#database.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', key)
    return row && this.#database.value(row.content, { table: 'wholes', key }, isOutcome)
  }

  /** Returns the record with the late outcomes of its calls (`late`). */
  withLateOutcomes(record: RunRecord): RunRecord {
    const prefix = latePrefix(record.id)
    const rows = this.#database.rows<{ call: string; content: string }>(
      'SELECT call, content FROM wholes WHERE call > ? AND call < ?',
      prefix,
      `${prefix}~`,
    )
    if (rows.length === 0) return record
    const outcomes = new Map(
      rows.map(({ call, content }) => {
        return [call.slice(prefix.length), this.#database.value(content, { table: 'wholes', key: call }, isObject)]
      }),
    )
    const calls = record.calls.map((call) => {
      const outcome = outcomes.get(call.id)
      return isObject(outcome) ? { ...call, late: { ok: outcome.ok === true } } : call
    })
    return { ...record, calls }
  }
}

function isOutcome(value: unknown): value is ToolOutcome {
  return isObject(value) && (value.ok === true || isObject(value.error))
}

/** The keys of rows that are no results. */
const OTHER_KEY = /^(?:late|report)\//

function reportPrefix(run: string): string {
  return `report/${run}/`
}

/** Returns the prefix of the keys of a run's late outcomes. No call id begins with it. */
export function latePrefix(run: string): string {
  return `late/${run}/`
}
