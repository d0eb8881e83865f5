import * as v from 'valibot'
import { defineTool, type RunContext, ToolError } from 'edgecall/tool'
import type { MailEnv } from './outbox.ts'

const mailFields = {
  id: v.string(),
  to: v.string(),
  subject: v.string(),
  sentAt: v.pipe(v.string(), v.description('ISO 8601 in UTC.')),
  source: v.pipe(v.string(), v.description('The mail service.')),
}

/** Sends a mail, at most once for each call. */
export const sendMail = defineTool({
  name: 'sendMail',
  title: 'Send a mail',
  description:
    'Sends one plain-text e-mail to one address. Use it when someone asks to mail, send or forward something to an ' +
    'address that they gave; never guess an address. Have the whole text ready first. Answers the id of the mail and ' +
    'when it was sent; a source of "stand-in" means that this is a demonstration and nothing left the house: say so.',
  input: v.strictObject({
    to: v.pipe(v.string(), v.maxLength(254), v.email(), v.description('The address, such as "friend@example.com".')),
    subject: v.pipe(v.string(), v.regex(/^[^\r\n]+$/), v.maxLength(200), v.description('One line.')),
    text: v.pipe(v.string(), v.regex(/\S/), v.maxLength(20_000), v.description('The whole mail, as plain text.')),
  }),
  output: v.object(mailFields),
  annotations: { readOnly: false, idempotent: true, destructive: true, openWorld: true },
  approval: 'always',
  run: async (mail, context: RunContext<MailEnv>) => {
    const { idempotencyKey: key, deadline } = context
    const answer = await outboxOf(context).send({ key, mail, deadline })
    if ('code' in answer) throw new ToolError(answer.message, answer)
    return answer
  },
  status: async (context: RunContext<MailEnv>) => {
    const status = await outboxOf(context).status(context.idempotencyKey)
    return typeof status === 'string' ? status : { status: 'done', result: status }
  },
})

/** Lists the mails that were sent last. */
export const listSent = defineTool({
  name: 'listSent',
  title: 'List sent mails',
  description:
    'Lists the last ten mails that sendMail sent, the newest first. Use it to tell what was mailed to whom, or whether ' +
    'a mail went out. Answers id, address, subject, text, time and source of each; a source of "stand-in" means that ' +
    'nothing left the house.',
  input: v.strictObject({}),
  output: v.object({ mails: v.array(v.object({ ...mailFields, text: v.string() })) }),
  annotations: { readOnly: true, idempotent: true, openWorld: false, private: true },
  run: async (_, context: RunContext<MailEnv>) => ({ mails: await outboxOf(context).list() }),
})

/** Returns the outbox of the tenant that the caller's key belongs to, whatever the tool context says. */
function outboxOf({ env, caller }: RunContext<MailEnv>) {
  return env.OUTBOXES.get(env.OUTBOXES.idFromName(caller.tenant))
}
