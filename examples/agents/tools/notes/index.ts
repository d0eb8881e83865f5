import * as v from 'valibot'
import { defineTool, serveTools } from 'edgecall/tool'

/** Stands for a store of notes. */
const notes = [
  { name: 'kettle.md', text: 'The kettle boils a litre in three minutes. It has a two-year warranty.' },
  { name: 'mug.md', text: 'The mug holds 0.3 litres and may go into the dishwasher.' },
]

const searchNotes = defineTool({
  name: 'searchNotes',
  description: 'Finds notes that hold all of some words. Use it for facts on products. Answers names and texts.',
  input: v.object({ words: v.pipe(v.array(v.string()), v.minLength(1)) }),
  annotations: { readOnly: true, openWorld: false },
  run: ({ words }) =>
    notes.filter(({ name, text }) =>
      words.every((word) => `${name} ${text}`.toLowerCase().includes(word.toLowerCase())),
    ),
})

export default serveTools(searchNotes)
