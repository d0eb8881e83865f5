import { isMailBinding } from '../contract/answer-target.ts'
import type { Approvers } from './approvers.ts'

export interface MailApproversOptions {
  /** The `[[send_email]]` binding, which may send to these people. */
  readonly binding: string
  readonly from: string
  /** The id of the API key as which each person decides, by the address. */
  readonly people: Readonly<Record<string, string>>
}

/**
 * Asks people by mail. Each gets a link of their own to a page of this edge, which shows the call and has the buttons. The
 * edge needs its address in `EDGE_URL`.
 *
 * @example approvers({ board: mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people: { 'ann@example.com': 'ann' } }) })
 */
export function mailApprovers({ binding, from, people }: MailApproversOptions): Approvers {
  return {
    people,
    sendsLinks: true,
    ask: async ({ approval, people: addressees, edge }, env) => {
      const sender = env[binding]
      if (!isMailBinding(sender)) throw new Error(`${binding} is not bound: it must be a [[send_email]] binding.`)
      const { tool, caller, expires } = approval
      for (const { id: to, link } of addressees) {
        const text = [
          `The tool ${tool} waits for your approval at ${edge}.`,
          `Asked for by ${caller.key ?? caller.tenant}, until ${new Date(expires).toUTCString()}.`,
          `Look at the call and decide:\n${link}`,
          'The link is yours alone. Anyone who opens it can decide in your name.',
        ].join('\n\n')
        await sender.send({
          from,
          to,
          subject: `Approve ${tool}?`,
          text,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
      }
    },
  }
}
