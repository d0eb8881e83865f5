import { defineAgent } from 'edgecall/agent'

const readOnly = { annotations: { readOnly: true, openWorld: false } } as const

/** Finds facts, and writes nothing. */
export const researcher = defineAgent({
  ...readOnly,
  name: 'researcher',
  description: 'Finds what the notes say on a subject. Use it for facts. Answers a list of facts, each with its note.',
  instructions:
    'Search the notes, more than once if need be. List the facts, each with the name of its note. Add nothing.',
  tools: ['searchNotes'],
  limits: { steps: 6 },
})

/** Checks a text against the notes. */
export const reviewer = defineAgent({
  ...readOnly,
  name: 'reviewer',
  description: 'Checks a text against the notes. Use it before a text is given out. Answers what is wrong, or “fine”.',
  instructions: 'Look up every claim of the text in the notes. Answer what is wrong, one line each, or “fine”.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  template: 'Check this text:\n{{text}}',
  tools: ['searchNotes'],
  limits: { steps: 6 },
})

/** Answers by asking the other two. */
export const editor = defineAgent({
  ...readOnly,
  name: 'editor',
  description: 'Writes a short text on a subject of the notes. Use it for every request.',
  instructions:
    'Ask the researcher for facts, write at most five sentences, have them reviewed, and correct them once.',
  tools: [researcher.name, reviewer.name],
  returnDirect: 'always',
})
