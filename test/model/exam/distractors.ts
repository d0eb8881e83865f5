import type { JsonSchema } from '../../../src/contract/json.ts'
import { validateArguments } from '../../../src/schema/validate.ts'
import type { ExamTool } from './exam-tool.ts'

const text = { type: 'string' }

/** Ten tools that no question of the exam asks for, though some use its words. */
export const DISTRACTORS: readonly ExamTool[] = [
  distractor('send_email', 'Sends an e-mail to one recipient.', { to: text, subject: text, body: text }),
  distractor('search_tickets', 'Full-text search over the tickets of the help desk.', { query: text }),
  distractor('translate_text', 'Translates a passage into another language.', {
    passage: text,
    target: { type: 'string', description: 'Language code such as "de" or "zh".' },
  }),
  distractor('convert_currency', 'Converts an amount of money at the rate of the day.', {
    amount: { type: 'number' },
    from: { type: 'string', description: 'ISO 4217 code' },
    to: { type: 'string', description: 'ISO 4217 code' },
  }),
  distractor('list_files', 'Lists the files of a folder on the shared drive.', { folder: text }),
  distractor('get_order', 'Shows the lines and the state of one order by its ID.', { orderId: { type: 'integer' } }),
  distractor('convert_units', 'Converts a measurement from one unit to another, such as miles to kilometres.', {
    quantity: { type: 'number' },
    from: text,
    to: text,
  }),
  distractor('air_quality', 'Pollution and pollen index of a city.', { city: text }),
  distractor('play_music', 'Plays a song or an album on the speakers.', { title: text }),
  distractor('book_table', 'Books a table at a restaurant.', {
    restaurant: text,
    guests: { type: 'integer', minimum: 1 },
    at: { type: 'string', format: 'date-time' },
  }),
]

function distractor(name: string, description: string, properties: Record<string, JsonSchema>): ExamTool {
  const inputSchema = { type: 'object', properties, required: Object.keys(properties) }
  return {
    definition: { name, description, inputSchema, version: '1', hash: name, annotations: {} },
    perform: async (args) => {
      const refused = validateArguments(name, inputSchema, args)
      if (refused) return { outcome: refused }
      return { outcome: { ok: true, content: [{ type: 'text', text: 'Done.' }] }, deed: { does: 'something else' } }
    },
  }
}
