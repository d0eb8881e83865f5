/** The SQL table of the mails that one tenant has sent. */
import type { Mail, Receipt } from './service.ts'

/** A mail that was sent. */
export interface SentMail extends Receipt {
  readonly to: string
  readonly subject: string
  /** ISO 8601 in UTC. */
  readonly sentAt: string
}

export interface ListedMail extends SentMail {
  readonly text: string
}

/** How long sent mails are kept, in milliseconds. */
const MEMORY = 30 * 86_400_000
const MOST_LISTED = 10

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS mails (
    id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    sent_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS mails_sent_at ON mails (sent_at);
`

export function createTable(sql: SqlStorage): void {
  sql.exec(SCHEMA)
}

/** Records a mail sent at `now` (epoch milliseconds), and deletes records older than `MEMORY`. */
export function addMail(sql: SqlStorage, { to, subject, text, id, source }: Mail & Receipt, now: number): SentMail {
  sql.exec('DELETE FROM mails WHERE sent_at < ?', now - MEMORY)
  const insert = 'INSERT INTO mails (id, recipient, subject, text, source, sent_at) VALUES (?, ?, ?, ?, ?, ?)'
  sql.exec(insert, id, to, subject, text, source, now)
  return { id, to, subject, sentAt: iso(now), source }
}

/** Returns the last `MOST_LISTED` mails, newest first. */
export function readMails(sql: SqlStorage): ListedMail[] {
  const mails = sql.exec<Row>('SELECT * FROM mails ORDER BY sent_at DESC, rowid DESC LIMIT ?', MOST_LISTED).toArray()
  return mails.map(({ id, recipient, subject, text, source, sent_at }) => {
    return { id, to: recipient, subject, text, sentAt: iso(sent_at), source }
  })
}

function iso(time: number): string {
  return new Date(time).toISOString()
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
  readonly source: string
  readonly sent_at: number
}
