import { describe, expect, test } from 'vitest'
import { clockIn, maybe, play, prop } from './play.ts'

type Values = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const place = { type: 'string', description: 'Town or city' }
const date = maybe({ type: 'string', description: 'Day as YYYY-MM-DD. Leave it out for today.' })
const clock = prop('wall', 'Tells the current date and time', {}, () => clockIn('Europe/Copenhagen'))

/** The answer to a question on weather, where the forecast is of the place and date asked for and this. */
async function weather(question: string, forecast: Values): Promise<string> {
  const tool = prop('outlook', 'Weather of a place', { place, date }, (values) => ({ ...values, ...forecast }))
  return (await play([clock, tool], question)).answer
}

/** The answer that a look-up of a thing by its id, or of no field at all, has with this result. */
async function told(question: string, about: string, result: unknown, fields: Values = {}): Promise<string> {
  return (await play([clock, prop('some_tool', about, fields, () => result)], question)).answer
}

const wet = {
  summary: 'Showers',
  temperatureMinC: 6,
  temperatureMaxC: 10,
  precipitationMm: 3.6,
  precipitationProbability: 53,
  source: 'stand-in',
}
const fair = { summary: 'Clear skies', temperatureMinC: -3, temperatureMaxC: -3, precipitationProbability: 0.04 }
const note = ' (This is stand-in data, not a real forecast.)'

describe('weather', () => {
  const showers = 'in Copenhagen on Saturday, 21 November: showers, 6 to 10 °C, 3.6 mm, 53 % chance of rain.'
  const clear = 'in Oslo on Saturday, 21 November: clear skies, -3 °C, 4 % chance of rain.'

  test.each([
    ['Will it rain in Copenhagen tomorrow?', `Yes, rain is likely ${showers}${note}`],
    ['Do I need an umbrella in Copenhagen tomorrow?', `Yes, rain is likely ${showers}${note}`],
    ['Will it stay dry in Copenhagen tomorrow?', `No, rain is likely ${showers}${note}`],
    ['Will it be wet or dry in Copenhagen tomorrow?', `Rain is likely ${showers}${note}`],
    ['How likely is rain in Copenhagen tomorrow?', `Rain is likely ${showers}${note}`],
    ['Will it snow in Copenhagen tomorrow?', `No, snow is not likely ${showers}${note}`],
    [
      '哥本哈根明天会下雨吗？',
      '是的，哥本哈根11月21日星期六很可能会下雨：阵雨，最低6℃，最高10℃，降水量3.6毫米，降水概率53%。（这是模拟数据，不是真实预报。）',
    ],
  ])('%s – where it rains', async (question, answer) => {
    expect(await weather(question, wet)).toBe(answer)
  })

  test.each([
    ['Will it rain in Oslo tomorrow?', `No, rain is not likely ${clear}`],
    ['Will it stay dry in Oslo tomorrow?', `Yes, it should stay dry ${clear}`],
    ['Can I leave my umbrella at home in Oslo tomorrow?', `Yes, it should stay dry ${clear}`],
    ['Will there be no rain in Oslo tomorrow?', `Yes, it should stay dry ${clear}`],
    ['Is it sunny in Oslo tomorrow?', `Yes, sunshine is likely ${clear}`],
    ['Weather in Oslo on Sunday', 'Oslo on Sunday, 22 November: clear skies, -3 °C, 4 % chance of rain.'],
    ['奥斯陆明天会不会下雨？', '不，奥斯陆11月21日星期六大概不会下雨：晴，最低-3℃，最高-3℃，降水概率4%。'],
    ['奥斯陆明天不会下雨吗？', '是的，奥斯陆11月21日星期六大概不会下雨：晴，最低-3℃，最高-3℃，降水概率4%。'],
  ])('%s – where it does not', async (question, answer) => {
    expect(await weather(question, fair)).toBe(answer)
  })

  test.each([
    [{ name: 'Copenhagen', temp_c: 7, wind_kph: 20, humidity: 80 }, 'Copenhagen: 7 °C, wind 20 km/h, humidity: 80.'],
    [{ conditions: 'Fog', highF: 50, lowF: 41 }, 'Copenhagen: fog, 41 to 50 °F.'],
    [{ stadt: 'Copenhagen', feelsLikeC: 1, uvIndexMax: 3 }, 'Copenhagen: feels like 1 °C, uv index max: 3.'],
    [
      { morning: { tempMin: 1, tempMax: 3 }, evening: { tempMin: 2, tempMax: 5 } },
      'Copenhagen: morning temp 1 to 3, evening temp 2 to 5.',
    ],
    ['Mild, 30% chance of rain', 'Mild, 30% chance of rain'],
  ])('in other fields', async (result, answer) => {
    expect(await told('Weather in Copenhagen', 'Weather of a place', result, { place })).toBe(answer)
  })

  test.each([
    ['Clear skies', 'No, rain is not likely in Bahrain: clear skies, country: Ukraine, problems: 3.5.'],
    ['Sunny, then showers', 'Yes, rain is likely in Bahrain: sunny, then showers; country: Ukraine; problems: 3.5.'],
    ['Odd', 'Bahrain: odd, country: Ukraine, problems: 3.5.'],
  ])('that is told in words alone: %s', async (summary, answer) => {
    const result = { summary, country: 'Ukraine', problems: 3.5 }
    expect(await told('Will it rain in Bahrain?', 'Weather of a place', result, { place })).toBe(answer)
  })

  test('in a text of the tool, after the yes or no', async () => {
    const answer = await told('Will it rain in Copenhagen?', 'Weather', 'Mild, chance of rain 30 %.', { place })
    expect(answer).toBe('No, rain is not likely. Mild, chance of rain 30 %.')
  })
})

describe('a record', () => {
  const ada = {
    id: 42,
    name: 'Ada Okafor',
    company: 'Okafor Instruments',
    email: 'ada@okafor.example',
    plan: 'enterprise',
    since: '2021-03-17',
    openOrders: 3,
  }
  const about = 'Looks up a customer by number'
  const fields = { id: { type: 'integer', description: 'The customer number' } }

  test.each<[string, unknown, string]>([
    [
      'Tell me more about the customer with ID 42',
      ada,
      'Ada Okafor (customer 42) is at Okafor Instruments, on the enterprise plan, a customer since 17 March 2021, ' +
        'with 3 open orders; ada@okafor.example.',
    ],
    ['What plan is customer 42 on?', ada, 'Ada Okafor (customer 42) is on the enterprise plan.'],
    [
      '客户42的信息',
      ada,
      'Ada Okafor（客户 42）：公司 Okafor Instruments，邮箱 ada@okafor.example，套餐 enterprise，自2021年3月17日起为客户，未结订单3个。',
    ],
    ['Who is customer 42?', { customer: { id: 42, name: 'Ada' } }, 'Customer 42 is Ada.'],
    ['Who is customer 42?', { name: 'Ada', openOrders: 1 }, 'Ada has 1 open order.'],
    ['Who is customer 42?', { name: 'Ada', openOrders: 0 }, 'Ada has no open orders.'],
    ['Who is customer 42?', { name: 'Ada', memberSince: '2019-01-10' }, 'Ada has been a member since 10 January 2019.'],
    ['Who is customer 42?', { name: 'Ada', isActive: false, vip: true }, 'Ada: not active, vip: yes.'],
    ['Who is customer 42?', { colour: 'red', ok: true, crmID: 'x1' }, 'Colour: red, crm ID: x1.'],
    ['Who is customer 42?', { motto: 'wait, then see', size: 3 }, 'Motto: wait, then see; size: 3.'],
    ['Who is customer 42?', { tags: ['a', 'b'], note: null }, 'Tags: a, b.'],
    [
      'Who is customer 42?',
      { name: 'Ada', lastSeen: '2026-11-20T14:05:09+01:00', time: '14:05:09', weekday: 'Friday', updates: 1 },
      'Ada has 1 update; last seen: 14:05 on Friday, 20 November 2026.',
    ],
    ['Who is customer 42?', { ok: true }, 'The tool answered, but told nothing.'],
    ['Who is customer 42?', '"Nobody knows."', 'Nobody knows.'],
  ])('%s', async (question, result, answer) => {
    expect(await told(question, about, result, fields)).toBe(answer)
  })

  test('is called what the question calls it', async () => {
    const booking = {
      number: 'B-12345',
      state: 'confirmed',
      guest: 'Ada Okafor',
      room: 'double',
      checkIn: '2027-03-12',
      price: 360,
    }
    const byNumber = { number: { type: 'string', description: 'The booking number, such as "B-12345".' } }
    const answer = await told('Look up booking B-12345', 'Looks up a booking', booking, byNumber)
    expect(answer).toBe(
      'Booking B-12345 is confirmed; guest: Ada Okafor, room: double, check in: 12 March 2027, price: 360.',
    )
  })

  test.each([
    ['a1', 'Alarm a1 is cancelled.'],
    ['0b0e7c0e-58fd-4c2c-9d5f-0a1f6cf3a8a2', 'Cancelled.'],
  ])('of alarm %s', async (id, answer) => {
    const byId = { id: { type: 'string', description: 'Id of the alarm' } }
    expect(await told('cancel alarm a1', 'Cancels an alarm', { id, state: 'cancelled' }, byId)).toBe(answer)
  })

  test('of success alone is done', async () => {
    const byId = { id: { type: 'string', description: 'Id of the alarm' } }
    expect(await told('cancel alarm a1', 'Cancels an alarm', { ok: true }, byId)).toBe('Done.')
  })

  test('of something done says what and when, without the UUID of it', async () => {
    const sent = {
      id: '0b0e7c0e-58fd-4c2c-9d5f-0a1f6cf3a8a2',
      to: 'bob@example.com',
      sentAt: '2026-11-20T13:05:00Z',
      source: 'stand-in',
    }
    const mail = { to: { type: 'string', format: 'email' }, body: text }
    const answer = await told('Send an email to bob@example.com saying hi', 'Sends an email', sent, mail)
    expect(answer).toBe('I sent the mail to bob@example.com. (A stand-in took it: nothing really went out.)')
  })
})

describe('a list', () => {
  const about = 'Lists the orders of a shop'
  const order = (id: string) => ({ id, placedAt: '2026-11-20', total: 9.5 })
  const many = Array.from({ length: 22 }, (_, at) => ({ item: `thing ${at + 1}` }))

  test.each<[string, string, unknown, string]>([
    [
      'of several',
      'list the orders',
      { orders: [order('a1'), order('a2')] },
      'There are 2 orders:\n- placed on 20 November 2026; total: 9.5; id a1\n- placed on 20 November 2026; total: 9.5; id a2',
    ],
    ['of one', 'list the orders', { orders: [{ item: 'tea' }] }, 'There is 1 order:\n- item: tea'],
    ['of none', 'list the orders', { orders: [] }, 'There are no orders.'],
    ['of nothing', 'list the orders', [], 'Nothing was found.'],
    ['of none, in Chinese', '查询订单', { orders: [] }, '没有订单。'],
    ['of one, in Chinese', '查询订单', { orders: [{ total: 9.5 }] }, '共1个订单：\n- 总计 9.5'],
    ['beside other facts', 'list the orders', { page: 1, orders: [] }, 'Page: 1.\nThere are no orders.'],
  ])('%s', async (_, question, result, answer) => {
    const chinese = prop('orders', `${about} 查询订单`, {}, () => result)
    expect((await play([chinese], question)).answer).toBe(answer)
  })

  test('of very many is cut', async () => {
    const lines = (await told('list the orders', about, { orders: many })).split('\n')
    expect([lines[0], lines[20], ...lines.slice(21)]).toEqual([
      'There are 22 orders:',
      '- item: thing 20',
      '- and 2 more',
    ])
  })
})

describe('a reminder', () => {
  const fields = { at: { type: 'string', description: 'ISO 8601 date-time' }, what: text }
  const remind = prop('remind', 'Reminds the user later', fields, (values) => ({
    id: '0b0e7c0e-58fd-4c2c-9d5f-0a1f6cf3a8a2',
    ...values,
  }))

  test.each([
    ['Remind me in 10 minutes to stretch', 'I will remind you at 14:15 (in 10 minutes) to stretch.'],
    ['Remind me in an hour about the dentist', 'I will remind you at 15:05 (in 1 hour) about the dentist.'],
    ['set a timer for 90 min: tea', 'I will remind you at 15:35 (in 1 hour 30 minutes): tea.'],
    ['Remind me tomorrow at 5pm to call Bob', 'I will remind you at 17:00 on Saturday, 21 November to call Bob.'],
    ['Remind me in 10 minutes', 'I will remind you at 14:15 (in 10 minutes).'],
    ['十分钟后提醒我', '好的，我会在14:15（10分钟后）提醒你。'],
    ['明天早上八点半提醒我开会', '好的，我会在11月21日星期六08:30提醒你开会。'],
  ])('%s', async (question, answer) => {
    expect((await play([clock, remind], question)).answer).toBe(answer)
  })
})

test('a calculation tells its number, and no mark of its exactness', async () => {
  const root = prop('root', 'Takes the square root', { number: { type: 'number' } }, ({ number }) => {
    return { number, value: 1, exact: true }
  })
  expect((await play([root], 'What is the square root of 1?')).answer).toBe('The square root of 1 is 1.')
})

const ODDITIES: readonly unknown[] = [
  null,
  [null],
  [[]],
  [{}, {}],
  {},
  { a: {} },
  '',
  0,
  false,
  { '': '' },
  { '': 0 },
  { __proto__: 1, constructor: 'x' },
  { minC: 1 },
  { max: 1, min: 'x' },
  { date: '2026-13-45', place: 3 },
  [['a', ['b']], { rows: [{ rows: [1] }] }],
]

test.each(ODDITIES.map((result) => ({ result })))(
  'whatever the result is, something is said: $result',
  async ({ result }) => {
    for (const question of [
      'Will it rain in Oslo tomorrow?',
      '奥斯陆明天会下雨吗？',
      'Who is customer 42?',
      '客户42的信息',
    ]) {
      const isWeather = /Oslo|奥斯陆/.test(question)
      const tool = isWeather
        ? prop('weather', 'Weather of a place', { place, date }, () => JSON.stringify(result))
        : prop('customer', 'Looks up a customer', { id: { type: 'integer' } }, () => JSON.stringify(result))
      const { calls, answer } = await play([clock, tool], question)
      expect(calls.at(-1)?.tool).toBe(tool.definition.name)
      expect(answer).toMatch(/\S/)
      expect(answer).not.toMatch(/undefined|NaN|\[object/)
    }
  },
)
