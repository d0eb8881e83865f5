import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { offlineRules } from '../../src/model/offline-rules.ts'
import { DRESSINGS } from './offline/dressings.ts'
import { clockIn, gather, NOW, play, type Prop, prop } from './offline/play.ts'

const plain = DRESSINGS.plain!
const PROPS = Object.values(plain)
const city = { city: { type: 'string', description: 'City' } }
const request = (content: string, tools: readonly Prop[] = PROPS): ModelRequest => ({
  messages: [{ role: 'user', content }],
  tools: tools.map(({ definition }) => definition),
})
const called = (tool: string, values: Readonly<Record<string, unknown>>) => ({ tool, arguments: values })

describe('the stream', () => {
  const model = offlineRules('offline/rules')

  test('asks for a tool with a delta, the call, and one finish', async () => {
    const text = '{"timeZone":"Asia/Tokyo"}'
    expect(await gather(model, request('What time is it in Tokyo?'))).toEqual([
      { type: 'call.delta', index: 0, tool: 'currentTime', arguments: text },
      { type: 'call', index: 0, tool: 'currentTime', arguments: text },
      { type: 'finish', finish: 'tool_calls', usage: { inputTokens: 6, outputTokens: 2 } },
    ])
  })

  test('says words one by one and counts them as tokens', async () => {
    const events = await gather(model, request('Write me a poem', []))
    const words = events.flatMap((event) => (event.type === 'text' ? event.text : []))
    expect(words.slice(0, 4)).toEqual(['Sorry, ', 'I ', 'cannot ', 'answer '])
    expect(events.at(-1)).toEqual({
      type: 'finish',
      finish: 'stop',
      usage: { inputTokens: 4, outputTokens: words.length },
    })
  })

  test('is the same for the same request', async () => {
    const first = await gather(model, request('Remind me in 10 minutes to stretch'))
    expect(await gather(offlineRules('x'), request('Remind me in 10 minutes to stretch'))).toEqual(first)
  })

  test('ends once its signal aborts', async () => {
    const abort = new AbortController()
    let pieces = 0
    for await (const _ of model.stream(request('Write me a poem'), abort.signal)) {
      pieces += 1
      abort.abort()
    }
    expect(pieces).toBe(1)
  })

  test('ends with an error, and throws nothing, where a definition cannot be read', async () => {
    const broken = { ...PROPS[0]!.definition, inputSchema: { properties: { a: { type: 'string', enum: [1n] } } } }
    const odd = { ...broken, description: undefined } as unknown as typeof broken
    const events = await gather(model, { ...request('What time is it?'), tools: [odd] })
    expect(events).toMatchObject([{ type: 'error', error: { code: 'model_failed', retryable: false } }])
  })

  test.each(['', '   ', '?'.repeat(5000), 'what is '.repeat(30_000), '在'.repeat(50_000)])(
    'answers whatever it is sent',
    async (content) => {
      const events = await gather(model, request(content))
      expect(events.at(-1)).toMatchObject({ type: 'finish', finish: 'stop' })
    },
  )
})

describe('without a tool', () => {
  test.each([
    ['What day is tomorrow?', /cannot answer.*neither a clock nor a tool/],
    ['明天几号？', /回答不了.*没有时钟/],
    ['What is the square root of 2?', /cannot answer.*no tool/],
  ])('%s is answered with an honest no', async (question, words) => {
    const { calls, answer } = await play([], question)
    expect(calls).toEqual([])
    expect(answer).toMatch(words)
  })

  test('a time that no tool tells is asked of the conversation, then of a clock that was lent, then of nobody', async () => {
    const props = [plain.reminder]
    const question = 'remind me in 10 minutes to stretch'
    const unknown = await play(props, question)
    expect(unknown).toMatchObject({ calls: [], answer: 'That depends on the present time, and no tool tells me that.' })
    const said = await play(props, `It is now 2026-11-20T14:05:09+01:00. ${question}`)
    expect(said.calls).toEqual([called('setAlarm', { time: '2026-11-20T14:15:09+01:00', message: 'stretch' })])
    const lent = await play(props, question, { now: () => new Date(NOW) })
    expect(lent.calls).toEqual([called('setAlarm', { time: '2026-11-20T13:15:09+00:00', message: 'stretch' })])
  })
})

describe('several tools', () => {
  test('a relative time is reckoned from the tool that tells the time', async () => {
    const { calls, answer } = await play(PROPS, 'Remind me in 10 minutes to stretch')
    expect(calls).toEqual([
      called('currentTime', {}),
      called('setAlarm', { time: '2026-11-20T14:15:09+01:00', message: 'stretch' }),
    ])
    expect(answer).toBe('I will remind you at 14:15 (in 10 minutes) to stretch.')
  })

  test('what is independent is called in one step, what depends on the time after it', async () => {
    const both = await play(PROPS, 'What time is it in Tokyo and what is the weather in Paris?')
    expect(both.steps).toEqual([
      [called('currentTime', { timeZone: 'Asia/Tokyo' }), called('forecast', { place: 'Paris' })],
    ])
    const { steps, answer } = await play(PROPS, 'What time is it in Tokyo and will it rain in Copenhagen tomorrow?')
    expect(steps).toEqual([
      [called('currentTime', { timeZone: 'Asia/Tokyo' }), called('currentTime', {})],
      [called('forecast', { place: 'Copenhagen', date: '2026-11-21' })],
    ])
    expect(answer).toMatch(
      /^It is 22:05 on Friday, 20 November 2026 in Tokyo \(Asia\/Tokyo\)\.\nYes, rain is likely in Copenhagen /,
    )
    expect(answer).toContain('stand-in data')
  })

  // In Auckland it is tomorrow already.
  test.each([
    [
      'What time is it in Auckland and will it rain in Copenhagen tomorrow?',
      [
        [called('currentTime', { timeZone: 'Pacific/Auckland' }), called('currentTime', {})],
        [called('forecast', { place: 'Copenhagen', date: '2026-11-21' })],
      ],
    ],
    [
      'What time is it in Auckland? Remind me tomorrow at 9 to stretch.',
      [
        [called('currentTime', { timeZone: 'Pacific/Auckland' }), called('currentTime', {})],
        [called('setAlarm', { time: '2026-11-21T09:00:00+01:00', message: 'stretch' })],
      ],
    ],
    [
      'What time is it in Auckland, and what day is it tomorrow?',
      [[called('currentTime', { timeZone: 'Pacific/Auckland' }), called('currentTime', {})]],
    ],
  ])('a day is not taken from the clock of another city: %s', async (question, expected) => {
    const { steps, answer } = await play(PROPS, question)
    expect(steps).toEqual(expected)
    expect(answer).toMatch(/^It is 02:05 on Saturday, 21 November 2026 in Auckland .*\n[^]*\bSaturday, 21 November/)
  })

  test('a clock that must be told a zone is asked for that of each place', async () => {
    const { clock, weather } = DRESSINGS.odd!
    const { steps } = await play(
      [clock, weather],
      'What time is it in Auckland and will it rain in Copenhagen tomorrow?',
    )
    expect(steps).toEqual([
      [called('sundial', { zone: 'Pacific/Auckland' }), called('sundial', { zone: 'Europe/Copenhagen' })],
      [called('skies', { where: 'Copenhagen', day: '2026-11-21' })],
    ])
  })

  test('a list of places is a call each', async () => {
    const { calls } = await play(PROPS, 'What time is it in Tokyo, London and New York?')
    expect(calls.map((call) => call.arguments.timeZone)).toEqual(['Asia/Tokyo', 'Europe/London', 'America/New_York'])
  })

  test('what fits a tool is answered beside what does not', async () => {
    const { calls, answer } = await play(PROPS, 'Write me a poem. What time is it in Tokyo?')
    expect(calls).toEqual([called('currentTime', { timeZone: 'Asia/Tokyo' })])
    expect(answer).toMatch(/^It is 22:05 .*\nSorry, I cannot answer “Write me a poem\.”/)
  })

  test('a day or time is reckoned from the time told', async () => {
    const answers = await Promise.all(
      [
        'What day was yesterday?',
        "What's the date in 3 days?",
        'What time will it be in 2 hours?',
        'Is tomorrow Friday?',
        'What weekday is 2026-12-24?',
        '后天是几号',
      ].map(async (question) => (await play(PROPS, question)).answer),
    )
    expect(answers).toEqual([
      'Yesterday was Thursday, 19 November 2026.',
      'In 3 days: Monday, 23 November 2026.',
      'In 2 hours: 16:05, Friday, 20 November 2026.',
      'No. Tomorrow is Saturday, 21 November 2026.',
      '2026-12-24: Thursday, 24 December 2026.',
      '后天是2026年11月22日星期日。',
    ])
  })
})

describe('a conversation', () => {
  test('what is missing is asked for, and the reply completes the question', async () => {
    const { calls, answer } = await play(PROPS, 'Will it rain tomorrow?')
    expect(calls).toEqual([])
    expect(answer).toBe('I still need to know: place (Town or city: "Lisbon".)')
    const replied = await play(PROPS, 'in aarhuus', { earlier: ['Will it rain tomorrow?', answer] })
    expect(replied.calls.at(-1)).toEqual(called('forecast', { place: 'Aarhuus', date: '2026-11-21' }))
  })

  test.each([
    ['What time is it in Tokyo?', 'and in Paris?', called('currentTime', { timeZone: 'Europe/Paris' })],
    ['Will it rain in Oslo?', 'and tomorrow?', called('forecast', { place: 'Oslo', date: '2026-11-21' })],
    ['Tell me about customer 42', 'and 43?', called('getCustomer', { id: 43 })],
    ['东京现在几点？', '巴黎呢？', called('currentTime', { timeZone: 'Europe/Paris' })],
  ])('%s – %s', async (before, question, call) => {
    const { calls } = await play(PROPS, question, { earlier: [before, 'An answer.'] })
    expect(calls.at(-1)).toEqual(call)
  })

  test('a question of its own owes nothing to the one before', async () => {
    const earlier = ['Tell me about customer 42', 'Ada Okafor.']
    expect(await play(PROPS, 'Who won the 1998 world cup?', { earlier })).toMatchObject({ calls: [] })
  })
})

describe('a tool choice', () => {
  const question = 'What time is it in Tokyo?'

  test('none calls nothing', async () => {
    expect(await play(PROPS, question, { toolChoice: 'none' })).toMatchObject({ calls: [] })
  })

  test('a name calls that tool, or asks for what it needs', async () => {
    const named = await play(PROPS, question, { toolChoice: { tool: 'forecast' } })
    expect(named.calls).toEqual([called('forecast', { place: 'Tokyo' })])
    const asked = await play(PROPS, 'Hello', { toolChoice: { tool: 'getCustomer' } })
    expect(asked).toMatchObject({ calls: [], answer: 'I still need to know: id (The customer number, such as 42.)' })
  })

  test('required calls the best tool that can be called', async () => {
    expect((await play(PROPS, 'Hello', { toolChoice: 'required' })).calls).toHaveLength(1)
  })
})

describe('errors', () => {
  const fails = (message: string): Prop =>
    prop('weather', 'Weather of a place', city, () => {
      throw new Error(message)
    })

  test('are passed on as the tool worded them', async () => {
    const { calls, answer } = await play([fails('The mast is down.')], 'weather in Copenhagen')
    expect(calls).toEqual([called('weather', { city: 'Copenhagen' })])
    expect(answer).toBe('The tool said: The mast is down.')
  })

  test('that name the right value are heeded once', async () => {
    const picky = prop('weather', 'Weather of a place', city, (values) => {
      if (values.city !== 'København') throw new Error(`No place "${String(values.city)}". Did you mean "København"?`)
      return { summary: 'dry' }
    })
    const { calls, answer } = await play([picky], 'weather in Copenhagen')
    expect(calls.map((call) => call.arguments.city)).toEqual(['Copenhagen', 'København'])
    expect(answer).toBe('Copenhagen: dry.')
  })

  test('that tell the form of a value are heeded once', async () => {
    const clock = prop('clock', 'Tells the current time', { where: { type: 'string' } }, (values) => {
      if (values.where !== 'Asia/Tokyo') throw new Error('Send `where` as an IANA time zone.')
      return clockIn('Asia/Tokyo')
    })
    const { calls, answer } = await play([clock], 'time in Tokyo')
    expect(calls.map((call) => call.arguments.where)).toEqual(['Tokyo', 'Asia/Tokyo'])
    expect(answer).toContain('22:05')
  })

  test('that only give an example are not taken for one', async () => {
    const weather = fails('There is no place "Springfeld". Send `city` as in "Lisbon", for 2026-11-20 to 2026-11-27.')
    const { calls, answer } = await play([weather], 'weather in Springfeld')
    expect(calls).toEqual([called('weather', { city: 'Springfeld' })])
    expect(answer).toMatch(/^The tool said: There is no place/)
  })

  test('of the tool that tells the time end what depends on it', async () => {
    const clock = prop('clock', 'Tells the current time', {}, () => {
      throw new Error('The clock is broken.')
    })
    const { calls, answer } = await play([clock, plain.reminder], 'Remind me in 10 minutes to stretch')
    expect(calls).toEqual([called('clock', {})])
    expect(answer).toBe('The tool said: The clock is broken.')
  })
})

describe('results', () => {
  test('only what the question asks for by name is told', async () => {
    const { answer } = await play(PROPS, 'What plan is customer 42 on?')
    expect(answer).toBe('Ada Okafor (customer 42) is on the enterprise plan.')
  })

  test('of several days, that of the question is told', async () => {
    const days = ['dry', 'rain', 'fog'].map((summary, at) => ({ date: `2026-11-2${at}`, summary }))
    const week = prop('weather', 'Weather of the next days', city, () => ({ days }))
    const { answer } = await play([week], 'Will it rain in Copenhagen tomorrow?')
    expect(answer).toBe('Yes, rain is likely in Copenhagen on Saturday, 21 November: rain.')
  })

  test('stay told when the tools are gone', async () => {
    const messages = [
      { role: 'user', content: 'weather in Oslo' },
      { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 'weather', arguments: '{"city":"Oslo"}' }] },
      { role: 'tool', callId: 'c', tool: 'weather', ok: true, content: [{ type: 'text', text: '{"sky":"grey"}' }] },
    ] as const
    const events = await gather(offlineRules('x'), { messages, tools: [] })
    expect(events.map((event) => (event.type === 'text' ? event.text : '')).join('')).toBe('Oslo: grey.')
  })
})

test('nothing is removed or changed unasked', async () => {
  const id = { id: { type: 'integer', description: 'Customer id' } }
  const remove = prop('delete_customer', 'Deletes a customer for good', id, () => 'gone')
  expect((await play([remove], 'Tell me about customer 42')).calls).toEqual([])
  expect((await play(PROPS, 'delete customer 42')).calls).toEqual([])
  expect((await play([remove, ...PROPS], 'delete customer 42')).calls).toEqual([called('delete_customer', { id: 42 })])
})

test.each([
  'Cancel the alarm 9d1e2a3b-4c5d-4e6f-8a9b-1c2d3e4f5a6b',
  'please delete my reminder with id 9d1e2a3b-4c5d-4e6f-8a9b-1c2d3e4f5a6b',
  'Call off alarm "9d1e2a3b-4c5d-4e6f-8a9b-1c2d3e4f5a6b", thanks',
  '取消闹钟9d1e2a3b-4c5d-4e6f-8a9b-1c2d3e4f5a6b',
])('an id is taken whole, with no times or numbers in it: %s', async (question) => {
  const id = { id: { type: 'string', description: 'Id of the alarm, as setAlarm answered it.' } }
  const cancel = prop('cancelAlarm', 'Cancels an alarm that has not gone off yet.', id, () => ({ state: 'cancelled' }))
  expect((await play([cancel, ...PROPS], question)).calls).toEqual([
    called('cancelAlarm', { id: '9d1e2a3b-4c5d-4e6f-8a9b-1c2d3e4f5a6b' }),
  ])
})

test('where nothing fits, a tool that finds tools is asked', async () => {
  const finder = prop('find_tools', 'Finds tools for a task', { query: { type: 'string' } }, () => '[]')
  const { calls, answer } = await play([finder], 'Translate hello to French')
  expect(calls).toEqual([called('find_tools', { query: 'Translate hello to French' })])
  expect(answer).toContain('cannot answer')
})
