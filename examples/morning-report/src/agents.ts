import { defineAgent } from 'edgecall/agent'

const readOnly = { annotations: { readOnly: true, openWorld: false } } as const

/** Reads what came in, and writes nothing. */
export const collector = defineAgent({
  ...readOnly,
  name: 'collector',
  description:
    'Collects what came in since yesterday. Use it for facts. Answers a list of facts, each with its source.',
  instructions: 'Read the inbox. List what is new, one line each, with the number of the message. Add nothing.',
  tools: ['readInbox'],
  limits: { steps: 4 },
})

/** Checks a draft against the inbox. */
export const checker = defineAgent({
  ...readOnly,
  name: 'checker',
  description:
    'Checks a draft against the inbox. Use it before a report is given out. Answers what is wrong, or “fine”.',
  instructions: 'Look up every claim of the draft in the inbox. Answer what is wrong, one line each, or “fine”.',
  input: { type: 'object', properties: { draft: { type: 'string' } }, required: ['draft'] },
  template: 'Check this draft:\n{{draft}}',
  tools: ['readInbox'],
  limits: { steps: 4 },
})

/** Writes the report by asking the other two. */
export const editor = defineAgent({
  ...readOnly,
  name: 'editor',
  description: 'Writes the report of the morning. Use it before a report is sent. Answers the report.',
  instructions: 'Ask the collector for facts, write at most five sentences, have them checked, and correct them once.',
  tools: [collector.name, checker.name],
})
