import { isObject, type JsonSchema } from '../../../src/contract/json.ts'
import { textOf } from '../../../src/contract/message.ts'
import { failure, type ToolDefinition } from '../../../src/contract/tool.ts'
import { validateArguments } from '../../../src/schema/validate.ts'
import { DISTRACTORS } from './distractors.ts'
import { edgecallTools, type HouseName } from './edgecall-tools.ts'
import type { Arguments, ExamTool } from './exam-tool.ts'
import { dayAt } from './moment.ts'

/** A tool of ours as another maker would have it: other words, other fields, another form of result. */
interface Dress {
  readonly of: HouseName
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly toHouse: (args: Arguments) => Arguments
  readonly fromHouse: (result: Arguments) => unknown
}

const MINUTE = 60_000
const DAY = 86_400_000

const DRESSES: readonly Dress[] = [
  {
    of: 'getCustomer',
    name: 'crm_lookup',
    description: 'Fetches the master data of a client from the CRM: full name, firm, contact, tier and unpaid orders.',
    inputSchema: {
      type: 'object',
      properties: {
        customerNumber: { type: 'string', pattern: '^[0-9]+$', description: 'The digits of the customer number.' },
      },
      required: ['customerNumber'],
    },
    toHouse: ({ customerNumber }) => ({ id: Number(customerNumber) }),
    fromHouse: ({ id, name, company, email, plan, since, openOrders }) => ({
      customerNumber: String(id),
      fullName: name,
      firm: company,
      contact: { email },
      tier: plan,
      memberSince: since,
      unpaidOrders: openOrders,
    }),
  },
  {
    of: 'forecast',
    name: 'weather_outlook',
    description:
      'Outlook for a city: sky, temperatures, chance of precipitation. Covers today and tomorrow, nothing beyond.',
    inputSchema: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Name of the city' },
        when: { type: 'string', enum: ['today', 'tomorrow'] },
      },
      required: ['city', 'when'],
      additionalProperties: false,
    },
    toHouse: ({ city, when }) => ({ place: city, date: dayAt(Date.now() + (when === 'tomorrow' ? DAY : 0)) }),
    fromHouse: ({ place, date, summary, temperatureMinC, temperatureMaxC, precipitationProbability }) =>
      `${String(place)}, ${String(date)}: ${String(summary).toLowerCase()}, ${String(temperatureMinC)} to ` +
      `${String(temperatureMaxC)} °C, chance of rain ${String(precipitationProbability)} %.`,
  },
  {
    of: 'setAlarm',
    name: 'schedule_nudge',
    description: 'Pings the user with a short note after a number of minutes. For reminders, timers and follow-ups.',
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: 'The note to show.', maxLength: 200 },
        inMinutes: { type: 'integer', minimum: 1, description: 'Minutes from now until the ping.' },
      },
      required: ['text', 'inMinutes'],
    },
    toHouse: ({ text, inMinutes }) => {
      return { message: text, time: new Date(Date.now() + Number(inMinutes) * MINUTE).toISOString() }
    },
    fromHouse: ({ id, time, message }) => ({ nudge: id, firesAt: time, note: message }),
  },
  {
    of: 'listAlarms',
    name: 'pending_nudges',
    description: 'All nudges that have been scheduled, with the moment at which each fires.',
    inputSchema: { type: 'object', properties: {} },
    toHouse: () => ({}),
    fromHouse: ({ alarms }) => ({ nudges: alarms }),
  },
  {
    of: 'cancelAlarm',
    name: 'drop_nudge',
    description: 'Withdraws a nudge before it fires.',
    inputSchema: { type: 'object', properties: { nudge: { type: 'string' } }, required: ['nudge'] },
    toHouse: ({ nudge }) => ({ id: nudge }),
    fromHouse: ({ id }) => ({ dropped: id }),
  },
  {
    of: 'squareRoot',
    name: 'math_sqrt',
    description: 'Takes the principal (non-negative) root √ of a value.',
    inputSchema: { type: 'object', properties: { value: { type: 'number', minimum: 0 } }, required: ['value'] },
    toHouse: ({ value }) => ({ number: value }),
    fromHouse: ({ value }) => String(value),
  },
  {
    of: 'calculate',
    name: 'evaluate_formula',
    description: 'Evaluates a formula with + - * / ^, brackets, sqrt(), ln(), sin() and the like, to many digits.',
    inputSchema: {
      type: 'object',
      properties: { formula: { type: 'string', examples: ['2*(3+4)', 'sqrt(2)/2'] } },
      required: ['formula'],
    },
    toHouse: ({ formula }) => ({ expression: formula }),
    fromHouse: ({ value }) => ({ result: value }),
  },
  {
    of: 'shiftTime',
    name: 'calendar_math',
    description:
      'Counts forward or back on the calendar from a start and tells which date and day of the week results.',
    inputSchema: {
      type: 'object',
      properties: {
        amount: { type: 'integer', description: 'How many units to move; below zero moves back.' },
        unit: { type: 'string', enum: ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] },
        start: { type: 'string', description: 'ISO 8601 date or date-time. Default: this moment.' },
      },
      required: ['amount', 'unit'],
    },
    toHouse: ({ amount, unit, start }) => ({ [String(unit)]: amount, ...(start !== undefined && { from: start }) }),
    fromHouse: ({ date, time, weekday }) => ({ date, clock: time, dayOfWeek: weekday }),
  },
  {
    of: 'currentTime',
    name: 'world_clock',
    description: 'Reads the wall clock anywhere on Earth: hour, date and day of the week at this very moment.',
    inputSchema: {
      type: 'object',
      properties: {
        zone: { type: 'string', description: 'tz database identifier, e.g. Africa/Cairo. Default: where the user is.' },
      },
    },
    toHouse: ({ zone }) => (zone === undefined ? {} : { timeZone: zone }),
    fromHouse: ({ timeZone, date, time, weekday }) => ({ zone: timeZone, clock: time, day: date, dayOfWeek: weekday }),
  },
]

/** The same abilities under other names, with tools that have nothing to do with them in between. */
export async function foreignTools(): Promise<readonly ExamTool[]> {
  const house = await edgecallTools()
  const dressed = DRESSES.map((dress) => foreign(dress, house[dress.of]))
  return DISTRACTORS.flatMap((distractor, index) => {
    const next = dressed[index]
    return next === undefined ? [distractor] : [distractor, next]
  })
}

function foreign({ name, description, inputSchema, toHouse, fromHouse }: Dress, house: ExamTool): ExamTool {
  const definition: ToolDefinition = { name, description, inputSchema, version: '1', hash: name, annotations: {} }
  return {
    definition,
    perform: async (args) => {
      const refused = validateArguments(name, inputSchema, args)
      if (refused) return { outcome: refused }
      const performance = await house.perform(toHouse(args))
      const { outcome } = performance
      // The text of a failure speaks of our own names.
      if (!outcome.ok) return { outcome: failure(outcome.error.code, `Refused: ${outcome.error.code}`) }
      const result = fromHouse(isObject(outcome.structured) ? outcome.structured : { text: textOf(outcome.content) })
      const text = typeof result === 'string' ? result : JSON.stringify(result)
      return { ...performance, outcome: { ok: true, content: [{ type: 'text', text }] } }
    },
  }
}
