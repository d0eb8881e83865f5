import * as v from 'valibot'
import { defineTool, serveTools } from 'edgecall/tool'

/** Stands for a mailbox. */
const INBOX = [
  { number: 1, from: 'ops@example.com', text: 'The build of last night is green.' },
  { number: 2, from: 'sales@example.com', text: 'Acme has signed for 40 seats.' },
]

const readInbox = defineTool({
  name: 'readInbox',
  description: 'Reads the messages that came in since yesterday. Answers the number, the sender and the text of each.',
  input: v.object({}),
  annotations: { readOnly: true, openWorld: false },
  run: async () => ({ messages: INBOX }),
})

const sendReport = defineTool({
  name: 'sendReport',
  description: 'Sends a report to a list of people. Use it once, with the whole report. Answers to whom it was sent.',
  input: v.object({ to: v.pipe(v.string(), v.email()), text: v.pipe(v.string(), v.minLength(1)) }),
  annotations: { idempotent: true, destructive: false, openWorld: true },
  // A person reads the report first.
  approval: 'always',
  // Here it would go to a mail service, with `idempotencyKey`, so that it goes out once.
  run: async ({ to, text }) => ({ to, characters: text.length }),
})

export default serveTools(readInbox, sendReport)
