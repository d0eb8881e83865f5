import { describe, expect, test } from 'vitest'
import { play, type Prop } from '../../fixtures/offline-play.ts'

/** A Friday, 14:05 in Copenhagen. */
const NOW = Date.parse('2026-11-20T13:05:09Z')
const text = (description: string) => ({ type: 'string', description })

function clockIn(timeZone = 'Europe/Copenhagen'): object {
  const name = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).format(NOW)
  const wall = new Date(NOW).toLocaleString('sv-SE', { timeZone }).replace(' ', 'T')
  return { timeZone, dateTime: `${wall}${/GMT(.*)/.exec(name)?.[1] || '+00:00'}` }
}

const CLOCK: Prop = {
  name: 'currentTime',
  description: 'Tells the current date and time in a time zone.',
  fields: { timeZone: text('IANA time zone; leave it out for that of the user.') },
  required: [],
  run: ({ timeZone }) => clockIn(timeZone as string | undefined),
}
const WEATHER: Prop = {
  name: 'weather',
  description: 'Forecasts the weather of a place for one day.',
  fields: { place: text('Town or city'), date: text('YYYY-MM-DD') },
  required: ['place'],
  run: ({ place, date = '2026-11-20' }) => ({ place, date, summary: 'rain', temperatureMaxC: 7, source: 'stand-in' }),
}
const REMIND: Prop = {
  name: 'createReminder',
  description: 'Sets a reminder for a moment.',
  fields: { at: text('ISO 8601 date-time with offset'), message: text('What to say') },
  run: (values) => ({ id: 'r1', ...values }),
}
const REMINDERS: Prop = {
  name: 'listReminders',
  description: 'Lists the reminders that are set.',
  run: () => ({
    reminders: [
      { id: 'r1', message: 'bread' },
      { id: 'r2', message: 'call mom' },
    ],
  }),
}
const CANCEL: Prop = {
  name: 'cancelReminder',
  description: 'Cancels a reminder by its id.',
  fields: { id: text('The id of the reminder') },
  run: (values) => ({ ...values, state: 'cancelled' }),
}
const CONVERT: Prop = {
  name: 'convertTime',
  description: 'Tells a time in another time zone.',
  fields: {
    start: text('ISO 8601 date-time with offset'),
    hours: { type: 'integer', description: 'Hours to add' },
    zone: text('IANA time zone'),
  },
  required: ['start'],
  run: ({ zone }) => ({ dateTime: '2026-11-21T00:00:00+09:00', zone }),
}
const CALCULATE: Prop = {
  name: 'calculate',
  description: 'Computes an arithmetic expression.',
  fields: { expression: text('Such as 2 * (3 + 4)') },
  run: ({ expression }) => ({ expression, value: 42 }),
}
const ROOT: Prop = {
  name: 'squareRoot',
  description: 'Computes the square root of a number.',
  fields: { number: { type: 'number' } },
  run: ({ number }) => ({ number, value: Math.sqrt(Number(number)) }),
}
const CUSTOMER: Prop = {
  name: 'getCustomer',
  description: 'Looks up a customer by number.',
  fields: { id: { type: 'integer' } },
  run: ({ id }) => ({ id, name: 'Ada Okafor' }),
}
const BOOK: Prop = {
  name: 'bookRoom',
  description: 'Books a hotel room.',
  fields: {
    guest: text('Full name of the guest'),
    room: { enum: ['single', 'double', 'suite'] },
    checkIn: text('First night as YYYY-MM-DD'),
    nights: { type: 'integer' },
  },
  run: (values) => ({ number: 'B-1', ...values }),
}
const MAIL: Prop = {
  name: 'sendMail',
  description: 'Sends an e-mail.',
  fields: { to: { type: 'string', format: 'email' }, subject: text('One line'), text: text('The whole mail') },
  run: ({ to }) => ({ to }),
}
const GREET: Prop = {
  name: 'greeting',
  description: 'Greets a person by name. Use it when somebody wants to be greeted.',
  fields: { name: text('Name of the person, such as Ada') },
  required: ['name'],
  run: ({ name }) => `Hello, ${String(name)}!`,
}
/** The tool of docs/tools.md, whose name begins with a word that is a verb elsewhere. */
const ORDER: Prop = {
  name: 'orderStatus',
  description: 'Looks up one order. Use it when someone asks where their order is. Returns its status and its carrier.',
  fields: { orderNumber: text('As on the invoice, such as A-1001') },
  required: ['orderNumber'],
  run: () => ({ status: 'shipped', carrier: 'DHL' }),
}
const ALL = [CLOCK, WEATHER, REMIND, REMINDERS, CANCEL, CONVERT, CALCULATE, ROOT, CUSTOMER, BOOK, MAIL]
const NOW_CALL = ['currentTime', {}] as const

describe('a question to the offline model', () => {
  test('takes a tool that looks something up for one that reads, whatever its name begins with', async () => {
    expect(await play([GREET, ORDER], 'Where is my order A-1001?')).toEqual({
      steps: [[['orderStatus', { orderNumber: 'A-1001' }]]],
      answer: 'status shipped, carrier DHL.',
    })
  })

  test('names a person after the word of the field, whatever else has a capital', async () => {
    expect((await play([GREET], 'Greeting with name Ada')).steps).toEqual([[['greeting', { name: 'Ada' }]]])
  })

  test.each([
    ['What time is it in Tokyo?', [[['currentTime', { timeZone: 'Asia/Tokyo' }]]]],
    ['Will it rain in Copenhagen tomorrow?', [[NOW_CALL], [['weather', { place: 'Copenhagen', date: '2026-11-21' }]]]],
    ['长春天气怎么样？', [[['weather', { place: '长春' }]]]],
    ['Tell me more about the customer with ID 42', [[['getCustomer', { id: 42 }]]]],
    ['What is the square root of 16?', [[['squareRoot', { number: 16 }]]]],
    ['What is the cube root of 27?', [[['calculate', { expression: '27 ^ (1 / 3)' }]]]],
    ['What is the fifth root of 32?', [[['calculate', { expression: '32 ^ (1 / 5)' }]]]],
    ['what is 15% of 80', [[['calculate', { expression: '15 / 100 * 80' }]]]],
    [
      'Remind me in 10 minutes to stretch',
      [[NOW_CALL], [['createReminder', { at: '2026-11-20T14:15:09+01:00', message: 'stretch' }]]],
    ],
    ['十分钟后提醒我', [[NOW_CALL], [['createReminder', { at: '2026-11-20T14:15:09+01:00', message: '提醒' }]]]],
    [
      '提醒我明天早上八点喝水',
      [[NOW_CALL], [['createReminder', { at: '2026-11-21T08:00:00+01:00', message: '喝水' }]]],
    ],
    ['What was the weather in Oslo last Tuesday?', [[NOW_CALL], [['weather', { place: 'Oslo', date: '2026-11-17' }]]]],
    [
      'Book a double room for two, Ada Okafor, from 3 December for 2 nights',
      [[NOW_CALL], [['bookRoom', { guest: 'Ada Okafor', room: 'double', checkIn: '2026-12-03', nights: 2 }]]],
    ],
    [
      'What time is it in Tokyo when it is 3 pm in London?',
      [[NOW_CALL], [['convertTime', { start: '2026-11-20T15:00:00+00:00', zone: 'Asia/Tokyo' }]]],
    ],
    [
      "I'm cycling through Copenhagen tomorrow. Will I get wet?",
      [[NOW_CALL], [['weather', { place: 'Copenhagen', date: '2026-11-21' }]]],
    ],
    [
      'Send a mail to bob@example.com with the subject Hi and the text "Hello there"',
      [[['sendMail', { to: 'bob@example.com', subject: 'Hi', text: 'Hello there' }]]],
    ],
  ])('%s', async (question, steps) => {
    expect((await play(ALL, question)).steps).toEqual(steps)
  })

  test('is answered from the result of its call', async () => {
    const answers = [
      'What time is it in Tokyo?',
      'What day was last Tuesday?',
      '明天是多少号？',
      'What is the weather in Paris?',
      'What is the square root of 16?',
      'Which reminders are set?',
    ].map(
      async (question) =>
        (
          await play(
            ALL.filter((tool) => tool !== CONVERT),
            question,
          )
        ).answer,
    )
    expect(await Promise.all(answers)).toEqual([
      'It is 22:05 on Friday, 20 November 2026 in Tokyo (Asia/Tokyo).',
      'Last Tuesday: Tuesday, 17 November 2026.',
      '明天是2026年11月21日星期六。',
      'place Paris, date Friday, 20 November 2026, summary rain, temperature max 7 °C, source stand-in.',
      'square root 16 = 4',
      '2 reminders:\n- id r1, message bread\n- id r2, message call mom',
    ])
  })

  test('gets the text of an error as it is', async () => {
    const broken = {
      ...WEATHER,
      run: () => {
        throw new Error('The mast is down.')
      },
    }
    expect((await play([broken], 'weather in Paris')).answer).toBe('The mast is down.')
  })
})

describe('several calls of the offline model', () => {
  test('that are independent are made in one step', async () => {
    const { steps } = await play(ALL, 'What time is it in Tokyo and what is the weather in Paris?')
    expect(steps).toEqual([
      [
        ['currentTime', { timeZone: 'Asia/Tokyo' }],
        ['weather', { place: 'Paris' }],
      ],
    ])
  })

  test('are made for a list of places', async () => {
    const { steps } = await play(ALL, 'What time is it in Tokyo, London and New York?')
    expect(steps[0]?.map(([, { timeZone }]) => timeZone)).toEqual(['Asia/Tokyo', 'Europe/London', 'America/New_York'])
  })
})

describe('a conversation with the offline model', () => {
  test('is asked for what is missing, and takes the reply', async () => {
    const { steps, answer } = await play(ALL, 'Will it rain tomorrow?')
    expect({ steps, answer }).toEqual({ steps: [], answer: 'I still need to know: place (Town or city)' })
    const replied = await play(ALL, 'in aarhus', { earlier: ['Will it rain tomorrow?', answer] })
    expect(replied.steps.at(-1)).toEqual([['weather', { place: 'Aarhus', date: '2026-11-21' }]])
  })

  test.each([
    ['What time is it in Tokyo?', 'and in Paris?', ['currentTime', { timeZone: 'Europe/Paris' }]],
    ['Will it rain in Oslo?', 'and tomorrow?', ['weather', { place: 'Oslo', date: '2026-11-21' }]],
    ['Tell me about customer 42', 'and 43?', ['getCustomer', { id: 43 }]],
  ])('takes the rest from the question before: %s %s', async (before, question, call) => {
    const { steps } = await play(ALL, question, { earlier: [before, 'An answer.'] })
    expect(steps.at(-1)).toEqual([call])
  })
})

describe('a tool that takes a count', () => {
  const counts = (name: string, field: string, required?: string[]): Prop => ({
    name,
    description: `Does ${name}. Use it for games. Answers the sum.`,
    fields: {
      [field]: { type: 'integer', description: 'How many' },
      sides: { type: 'integer', description: 'Of each' },
    },
    required: required ?? [field],
    run: (values) => values,
  })

  test.each([
    ['Roll 2 dice', counts('rollDice', 'count'), ['rollDice', { count: 2 }]],
    ['roll three dice please', counts('rollDice', 'numberOfDice'), ['rollDice', { numberOfDice: 3 }]],
    ['Roll 4 dice', counts('rollDice', 'count', []), ['rollDice', { count: 4 }]],
    ['Draw 5 cards', counts('drawCards', 'quantity', []), ['drawCards', { quantity: 5 }]],
    ['Roll 2 dice with 6 sides', counts('rollDice', 'count'), ['rollDice', { count: 2, sides: 6 }]],
  ])('gets the number of what its name names: %s', async (question, tool, call) => {
    const { steps } = await play([tool], question)
    expect(steps).toEqual([[call]])
  })
})

describe('a refusal by the offline model', () => {
  test.each([
    'Write me a poem about autumn leaves',
    'Who won the battle of Hastings?',
    'who invented the reminder',
    'Why is the sky blue?',
    'When did Tokyo become the capital of Japan?',
    'Was it raining in Paris on the day the Bastille fell?',
    'I have a sore throat and a fever, what medicine should I take?',
  ])('says in English that no tool fits: %s', async (question) => {
    const { steps, answer } = await play(ALL, question)
    expect(steps).toEqual([])
    expect(answer).toMatch(/^Sorry, I cannot answer .*offline model.*no tool on offer fits/)
  })

  test.each([
    ['写一首关于春天的诗', /^抱歉，我回答不了/],
    ['Wie spät ist es in Tokio?', /^Das kann ich leider nicht beantworten/],
    ['¿Qué hora es en Tokio?', /^Lo siento, no puedo responder/],
    ['Quelle heure est-il à Tokyo ?', /^Désolé, je ne peux pas répondre/],
  ])('is in the language of the question: %s', async (question, words) => {
    const { steps, answer } = await play(ALL, question)
    expect(steps).toEqual([])
    expect(answer).toMatch(words)
  })

  test('says that no tool knows the time', async () => {
    const { steps, answer } = await play([REMIND], 'remind me in 10 minutes to stretch')
    expect(steps).toEqual([])
    expect(answer).toBe('I cannot tell: that depends on the present time, and no tool tells me that.')
  })

  test('replaces the present time if another one is asked for', async () => {
    const { steps } = await play([CLOCK], 'What time is it in Tokyo when it is 3 pm in London?')
    expect(steps).toEqual([])
  })

  test('replaces a square root if another root is asked for', async () => {
    expect((await play([ROOT], 'What is the cube root of 27?')).steps).toEqual([])
  })

  test('names the part without a tool, beside the answer to the other part', async () => {
    const { answer } = await play(ALL, 'Write me a poem. What time is it in Tokyo?')
    expect(answer).toMatch(/^It is 22:05 .*\nSorry, I cannot answer “Write me a poem\.”/)
  })
})

describe('a program of the offline model', () => {
  const declarations = `Runs a program.

declare const tools: {
  /** Tells the current date and time in a time zone. */
  currentTime(input?: {
    /** IANA time zone; leave it out for that of the user. */
    timeZone?: string
  }): Promise<any>
  /** Books a hotel room. */
  "hotel.bookRoom"(input: {
    /** Full name of the guest */
    guest: string
    room: "single" | "double" | "suite"
    nights: number
    extras?: {
      /** Full name of a second guest */
      person: string
    }
    tags?: string[]
  }): Promise<{
    number: string
  }>
}`
  const programs = (results: unknown): Prop => ({
    name: 'run_code',
    description: declarations,
    fields: { code: { type: 'string' } },
    run: () => results,
  })
  const question = 'What time is it in Tokyo and Paris?'
  const code = `const calls = [
  tools.currentTime({"timeZone":"Asia/Tokyo"}),
  tools.currentTime({"timeZone":"Europe/Paris"}),
]
const outcomes = await Promise.allSettled(calls)
return outcomes.map(({ value, reason }) => (reason ? reason.message : value))`
  const times = [clockIn('Asia/Tokyo'), clockIn('Europe/Paris')]
  const answerText =
    'It is 22:05 on Friday, 20 November 2026 in Tokyo (Asia/Tokyo).\nIt is 14:05 on Friday, 20 November 2026 in Paris (Europe/Paris).'

  test.each([
    ['beside the tools', [CLOCK]],
    ['in place of the tools', []],
  ])('makes several calls at once, %s', async (_place, direct) => {
    expect(await play([...direct, programs(times)], question)).toEqual({
      steps: [[['run_code', { code }]]],
      answer: answerText,
    })
  })

  test('makes one call only if the model cannot', async () => {
    const single = 'What time is it in Tokyo?'
    expect((await play([CLOCK, programs([])], single)).steps).toEqual([[['currentTime', { timeZone: 'Asia/Tokyo' }]]])
    expect((await play([programs([times[0]])], single)).steps[0]?.[0]?.[0]).toBe('run_code')
  })

  test('is made of the fields that are declared, whatever the name of the tool', async () => {
    const { steps, answer } = await play(
      [programs([{ number: 'B-1' }])],
      'Book a double room for Ada Okafor for 2 nights',
    )
    const line = '  tools["hotel.bookRoom"]({"guest":"Ada Okafor","room":"double","nights":2}),'
    expect(steps).toEqual([[['run_code', { code: expect.stringContaining(`\n${line}\n`) }]]])
    expect(answer).toBe('Done. number B-1.')
  })

  test('answers with what failed: a call, or the program', async () => {
    const failure = 'There is no time there.'
    expect((await play([programs([times[0], failure])], question)).answer).toBe(
      `${answerText.split('\n')[0]}\n${failure}`,
    )
    expect((await play([programs('The program was stopped.')], question)).answer).toBe('The program was stopped.')
  })
})
