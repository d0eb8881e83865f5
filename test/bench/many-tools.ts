import type { ToolDefinition } from '../../src/contract/tool-definition.ts'

const VERBS =
  'get list create update delete search send find cancel archive export import sync approve assign schedule'.split(' ')
const NOUNS = (
  'invoice user order ticket event mail message file folder customer payment refund product shipment report metric alert ' +
  'server branch commit issue comment contact lead campaign survey room booking flight hotel route recipe song playlist ' +
  'video image document contract employee leave'
).split(' ')
const SERVICES = 'acme github stripe salesforce jira slack notion hubspot shopify twilio trello dropbox datadog'.split(
  ' ',
)
const WAYS = 'by id|in bulk|for a team|with filters|as PDF|for a date range|with attachments|per region'.split('|')

/** The same definitions each time, as large and as like one another as those of a real catalogue: 60 words each. */
export function manyTools(count: number): readonly ToolDefinition[] {
  return Array.from({ length: count }, (_, index) => {
    const [verb, noun] = [pick(VERBS, index), pick(NOUNS, index * 7 + 1)]
    const [other, third] = [pick(NOUNS, index * 11 + 3), pick(NOUNS, index * 13 + 5)]
    const service = pick(SERVICES, index * 3 + (index >> 4))
    const properties = {
      [`${noun}Id`]: { type: 'string', description: `Id of the ${noun}` },
      [`${other}_name`]: { type: 'string', description: `Name of the ${other} to look in` },
      from: { type: 'string', description: 'First day of the range, ISO 8601' },
      limit: { type: 'integer', description: 'How many to answer at most' },
      status: { enum: ['open', 'closed', 'pending'] },
    }
    return {
      name: `${service}_${verb}_${noun}_${index}`,
      description:
        `${verb} each ${noun} ${pick(WAYS, index * 5)} in ${service}. Use it when somebody asks to ${verb} a ${noun} or a ` +
        `${other} and the ${third} is known. Answers the ${noun} with its ${third}, status and dates, newest first.`,
      inputSchema: { type: 'object', properties, required: [`${noun}Id`] },
      version: '1',
      hash: index.toString(16).padStart(64, '0'),
      annotations: {},
    }
  })
}

/** Questions as a model words them. */
export function manyQuestions(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const [verb, noun, other] = [pick(VERBS, index), pick(NOUNS, index * 5 + 2), pick(NOUNS, index * 3)]
    return `Can you ${verb} the ${noun} ${pick(WAYS, index)} of ${pick(SERVICES, index)}, with its ${other}?`
  })
}

function pick(from: readonly string[], at: number): string {
  return from[at % from.length] ?? ''
}
