import { DurableObject } from 'cloudflare:workers'
import { type KeyStatus, type Once, onceInSql, ToolError } from 'edgecall/tool'
import { type Mail, type MailService, postMail } from './service.ts'
import * as store from './store.ts'
import type { ListedMail, SentMail } from './store.ts'

export interface MailEnv extends MailService {
  readonly OUTBOXES: DurableObjectNamespace<Outbox>
}

export interface Order {
  /** Orders with the same key send one mail. */
  readonly key: string
  readonly mail: Mail
  /** The time after which the mail must not be sent any more, in epoch milliseconds. */
  readonly deadline: number
}

/** Why a mail was not sent, or may not have been: the content of a ToolError, as plain data that crosses RPC. */
export interface NotSent {
  readonly code: string
  readonly message: string
  readonly retryable?: boolean
}

/** Sends the mails of one tenant, each at most once, and records those that went out. */
export class Outbox extends DurableObject<MailEnv> {
  readonly #sql: SqlStorage
  readonly #once: Once
  readonly #service: MailService

  constructor(ctx: DurableObjectState, env: MailEnv) {
    super(ctx, env)
    this.#sql = ctx.storage.sql
    this.#once = onceInSql(ctx.storage)
    this.#service = env
    store.createTable(this.#sql)
  }

  async send({ key, mail, deadline }: Order): Promise<SentMail | NotSent> {
    try {
      return await this.#once(key, async () => {
        const receipt = await postMail(mail, { key, deadline, service: this.#service })
        return store.addMail(this.#sql, { ...mail, ...receipt }, Date.now())
      })
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
      return toNotSent(error, key)
    }
  }

  /** Returns what became of the mail of that key: `started` if that is unknown, `absent` if the mail was refused. */
  async status(key: string): Promise<KeyStatus | SentMail> {
    const status = await this.#once.status(key)
    // For a key that is done, this returns the stored result and sends nothing.
    return status === 'done' ? this.#once(key, forgotten) : status
  }

  list(): ListedMail[] {
    return store.readMails(this.#sql)
  }
}

function forgotten(): never {
  throw new ToolError('Nothing was sent.', { code: 'mail_forgotten' })
}

function toNotSent({ code, message, retryable, cause }: ToolError, key: string): NotSent {
  const problem = cause instanceof Error ? cause.message : undefined
  console.warn(JSON.stringify({ event: 'mail.not_sent', key, code, problem }))
  return { code, message, retryable }
}
