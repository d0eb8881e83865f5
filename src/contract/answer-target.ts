import { isObject, type JsonObject } from './json.ts'

/**
 * Where the answer of a run goes once the run has ended. `webhook`: a URL, which gets the message that the webhooks of
 * conversations get. `tool`: a tool, which is called with `arguments` and the answer as the argument that `answer` names.
 * `reply`: a mail.
 */
export type AnswerTarget = WebhookTarget | ToolTarget | ReplyTarget

export interface WebhookTarget {
  /** An https URL whose host is in `WEBHOOK_HOSTS`. */
  readonly webhook: string
}

export interface ToolTarget {
  readonly tool: string
  /** Default: none but the answer. */
  readonly arguments?: JsonObject
  /** The name of the argument that is the answer, as a text. */
  readonly answer: string
}

export interface ReplyTarget {
  readonly reply: {
    /** The `[[send_email]]` binding. */
    readonly binding: string
    readonly from: string
    readonly to: string
    readonly subject: string
    readonly headers: Readonly<Record<string, string>>
  }
}

/** A `[[send_email]]` binding. */
export interface MailBinding {
  send(message: Omit<ReplyTarget['reply'], 'binding'> & { readonly text: string }): Promise<unknown>
}

export function isMailBinding(value: unknown): value is MailBinding {
  return isObject(value) && 'send' in value
}
