import { describe, expect, test } from 'vitest'
import { DRESSINGS } from './dressings.ts'
import { maybe, play, prop } from './play.ts'

const { clock } = DRESSINGS.plain!
const text = { type: 'string' }

/** The arguments that a reminder tool with these fields is called with. */
async function reminder(question: string, properties: Readonly<Record<string, unknown>>): Promise<unknown> {
  const tool = prop('remind', 'Reminds the user later', properties, () => 'ok')
  return (await play([clock, tool], question)).calls.at(-1)?.arguments
}

describe('times', () => {
  const at = { at: { type: 'string', description: 'ISO 8601 date-time with offset' }, what: text }

  test.each([
    ['Remind me in 10 minutes to stretch', '2026-11-20T14:15:09+01:00', 'stretch'],
    ['in an hour and a half remind me to check the oven', '2026-11-20T15:35:09+01:00', 'check the oven'],
    ['remind me in half an hour that the tea is ready', '2026-11-20T14:35:09+01:00', 'the tea is ready'],
    ['Remind me at 5pm to call Bob', '2026-11-20T17:00:00+01:00', 'call Bob'],
    ['Remind me at 5 to call Bob', '2026-11-20T17:00:00+01:00', 'call Bob'],
    ['Remind me at 9 to call Bob', '2026-11-20T21:00:00+01:00', 'call Bob'],
    ['wake me at 13:00', '2026-11-21T13:00:00+01:00', 'Reminder'],
    ['Remind me tomorrow to buy milk, eggs and bread', '2026-11-21T09:00:00+01:00', 'buy milk, eggs and bread'],
    ['tomorrow evening remind me about the film', '2026-11-21T20:00:00+01:00', 'the film'],
    ['Remind me next Friday at noon to submit the report', '2026-11-27T12:00:00+01:00', 'submit the report'],
    ['Remind me on Monday at 8:30 to call +45 12 34 56 78', '2026-11-23T08:30:00+01:00', 'call +45 12 34 56 78'],
    ['remind me on 24 December at 6pm to sing', '2026-12-24T18:00:00+01:00', 'sing'],
    ['remind me in 5 months to renew', '2027-04-20T14:05:09+02:00', 'renew'],
    ['Remind me at 2026-11-20T18:00:00+02:00 to eat', '2026-11-20T18:00:00+02:00', 'eat'],
    ['半小时后提醒我开会', '2026-11-20T14:35:09+01:00', '开会'],
    ['一个半小时后提醒我开会', '2026-11-20T15:35:09+01:00', '开会'],
    ['明天早上八点半提醒我开会', '2026-11-21T08:30:00+01:00', '开会'],
    ['下周五下午三点提醒我交报告', '2026-11-27T15:00:00+01:00', '交报告'],
    ['三天后提醒我交报告', '2026-11-23T14:05:09+01:00', '交报告'],
    ['十分鐘後提醒我開會', '2026-11-20T14:15:09+01:00', '開會'],
  ])('%s', async (question, instant, what) => {
    expect(await reminder(question, at)).toEqual({ at: instant, what })
  })

  test.each([
    ['seconds', { seconds: { type: 'integer' } }, { seconds: 5400 }],
    ['minutes', { delay: { type: 'number', description: 'Minutes to wait' } }, { delay: 90 }],
    ['hours', { in_hours: { type: 'number' } }, { in_hours: 1.5 }],
    ['milliseconds', { delayMs: { type: 'integer' } }, { delayMs: 5_400_000 }],
    ['an ISO 8601 period', { delay: { type: 'string', description: 'ISO 8601 duration' } }, { delay: 'PT1H30M' }],
    ['words', { when: { type: 'string', description: 'In natural language' } }, { when: 'in 90 minutes' }],
    ['an epoch', { at: { type: 'integer', description: 'Unix time in seconds' } }, { at: 1_795_185_309 }],
    ['a time of day', { at: { type: 'string', description: 'HH:MM' } }, { at: '15:35' }],
    ['parts', { hour: { type: 'integer' }, minute: { type: 'integer' } }, { hour: 15, minute: 35 }],
    ['units apart', { hours: { type: 'integer' }, minutes: { type: 'integer' } }, { hours: 1, minutes: 30 }],
  ])('in %s', async (_, properties, values) => {
    expect(await reminder('Remind me in 90 minutes', properties)).toEqual(values)
  })

  test('across a change of clocks, a span is exact and a day keeps its time of day', async () => {
    const before = prop('now', 'Tells the current date and time', {}, () => ({
      zone: 'Europe/Copenhagen',
      dateTime: '2026-10-24T20:00:00+02:00',
    }))
    const tool = prop('remind', 'Reminds the user later', at, () => 'ok')
    const times = ['in 12 hours', 'tomorrow at 10am'].map(async (when) => {
      return (await play([before, tool], `Remind me ${when} to eat`)).calls.at(-1)?.arguments.at
    })
    expect(await Promise.all(times)).toEqual(['2026-10-25T07:00:00+01:00', '2026-10-25T10:00:00+01:00'])
  })
})

describe('other values', () => {
  const call = async (question: string, description: string, fields: Readonly<Record<string, unknown>>) => {
    const tool = prop('some_tool', description, fields, () => 'ok')
    return (await play([tool], question)).calls.at(-1)?.arguments
  }

  test.each([
    ['what is 17 times 23', '17 * 23'],
    ['(3+4)*2', '(3 + 4) * 2'],
    ['15% of 80?', '15 / 100 * 80'],
    ['multiply 6 by 7', '6 * 7'],
    ['subtract 3 from 10', '10 - 3'],
    ['sqrt(2)+1', 'sqrt(2) + 1'],
    ['square root of 475695037565', 'sqrt(475695037565)'],
    ['123456789012345678901 * 3', '123456789012345678901 * 3'],
    ['seventeen plus twenty-five', '17 + 25'],
    ['17乘以23等于多少', '17 * 23'],
    ['2 to the power of 10', '2 ^ 10'],
  ])('a sum: %s', async (question, formula) => {
    expect(await call(question, 'Evaluates a formula', { formula: text })).toEqual({ formula })
  })

  test('a number of more than 15 digits stays text where that is taken', async () => {
    const x = { anyOf: [{ type: 'number' }, { type: 'string' }] }
    const question = 'square root of 152415787532388367501905199875019'
    expect(await call(question, 'Square root', { x })).toEqual({ x: '152415787532388367501905199875019' })
    expect(await call('square root of 4.7 million', 'Square root', { x })).toEqual({ x: 4_700_000 })
  })

  test('an id is the number said to be one', async () => {
    const schema = { id: { type: 'string' } }
    expect(await call('cancel alarm a1', 'Cancels an alarm', schema)).toEqual({ id: 'a1' })
    expect(await call('The 3 of us ask for client no. 42', 'A client', schema)).toEqual({ id: '42' })
  })

  test('options, flags, defaults and nulls', async () => {
    const fields = {
      city: text,
      unit: maybe({ type: 'string', enum: ['celsius', 'fahrenheit'] }),
      hourly: { type: 'boolean' },
      days: { type: 'integer', default: 1 },
      date: { type: ['string', 'null'], description: 'YYYY-MM-DD' },
    }
    const bare = { city: 'Paris', hourly: false, days: 1, date: null }
    expect(await call('weather in Paris', 'Weather in a city', fields)).toEqual(bare)
    const said = await call('hourly weather in Paris in fahrenheit', 'Weather in a city', fields)
    expect(said).toEqual({ ...bare, unit: 'fahrenheit', hourly: true })
  })

  test('objects and lists', async () => {
    const cities = { type: 'array', items: text, description: 'City names' }
    expect(await call('weather in Paris', 'Weather', { cities })).toEqual({ cities: ['Paris'] })
    const where = { type: 'object', properties: { city: text, country: text }, required: ['city'] }
    expect(await call('weather in Paris', 'Weather', { where })).toEqual({ where: { city: 'Paris' } })
  })

  test('an address and what to write', async () => {
    const schema = { to: { type: 'string', format: 'email' }, body: text }
    const question = 'Send an email to bob@example.com saying I will be late'
    expect(await call(question, 'Sends an email', schema)).toEqual({
      to: 'bob@example.com',
      body: 'I will be late',
    })
    expect(await call('Send an email to bob@example.com: "Hi!"', 'Sends an email', schema)).toEqual({
      to: 'bob@example.com',
      body: 'Hi!',
    })
  })

  test.each([
    ['weather in New York City', 'New York City'],
    ["What is São Paulo's weather?", 'São Paulo'],
    ['weather in springfield', 'Springfield'],
    ['Is it cold in Aix-en-Provence?', 'Aix-en-Provence'],
    ['北京天气', '北京'],
    ['查一下牡丹江的天气', '牡丹江'],
  ])('a place: %s', async (question, place) => {
    expect(await call(question, 'Weather', { city: text })).toEqual({ city: place })
  })

  test.each([
    ['time in Kolkata', 'Asia/Kolkata'],
    ['time in Brazil', 'America/Sao_Paulo'],
    ['time in los angeles', 'America/Los_Angeles'],
    ['time in Europe/Copenhagen', 'Europe/Copenhagen'],
    ['长春现在几点', 'Asia/Shanghai'],
  ])('a time zone: %s', async (question, zone) => {
    expect(await call(question, 'Tells the current time', { tz: text })).toEqual({ tz: zone })
  })

  test('a time zone that is not known is asked for', async () => {
    expect(await call('time in Springfield', 'Tells the current time', { tz: text })).toBeUndefined()
  })
})
