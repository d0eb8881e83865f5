import type { TakenAnswer } from '../contract/directory.ts'
import { LazySchema } from '../contract/lazy-schema.ts'

/** One row per answer that a call has used, until the question is too old for it anyway. */
const TAKEN_SCHEMA = `
  CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, until INTEGER NOT NULL, reply TEXT) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answers_until ON answers (until);`

interface Taking {
  readonly question: string
  readonly until: number
  /** What is known of the call at once. */
  readonly reply?: string | undefined
}

/** The answers of people that calls outside of conversations have used, and what these calls came to. */
export class AnswerLedger {
  readonly #sql: SqlStorage
  readonly #schema: LazySchema

  constructor({ sql }: DurableObjectStorage) {
    this.#sql = sql
    this.#schema = new LazySchema(sql, 'answers', () => void sql.exec(TAKEN_SCHEMA))
  }

  /** Returns undefined to the first who takes an answer, and what is known of the call of the first to all others. */
  take({ question, until, reply }: Taking, now: number): TakenAnswer | undefined {
    this.#schema.ensure()
    this.#sql.exec('DELETE FROM answers WHERE until < ?', now)
    const select = 'SELECT reply FROM answers WHERE question = ?'
    const [row] = this.#sql.exec<{ reply: string | null }>(select, question).toArray()
    if (row) return { reply: row.reply ?? undefined }
    this.#sql.exec('INSERT INTO answers VALUES (?, ?, ?)', question, until, reply ?? null)
    return undefined
  }

  settle(question: string, reply: string): void {
    this.#schema.ensure()
    this.#sql.exec('UPDATE answers SET reply = ? WHERE question = ?', reply, question)
  }
}
