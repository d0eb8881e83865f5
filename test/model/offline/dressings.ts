import { clockIn, maybe, type Prop, prop } from './play.ts'

const text = (description: string, more = {}) => ({ type: 'string', description, ...more })
const number = (description: string) => ({ type: 'number', description })
const integer = (description: string) => ({ type: 'integer', description })
const rain = { summary: 'light rain', temperatureMinC: 4, temperatureMaxC: 8, precipitationProbability: 80 }

/** What a tool is for, whatever it is called. */
export type Trade = 'clock' | 'weather' | 'reminder' | 'root' | 'customer'

/** The same five trades, named and described anew each time. */
export const DRESSINGS: Readonly<Record<string, Readonly<Record<Trade, Prop>>>> = {
  plain: {
    clock: prop(
      'currentTime',
      'Tells the current date, time and weekday in a time zone. Use it whenever an answer depends on now or today.',
      {
        timeZone: maybe(text('IANA time zone, such as "Europe/Paris". Leave it out to use the zone of whoever asks.')),
      },
      ({ timeZone = 'Europe/Copenhagen' }) => clockIn(String(timeZone)),
    ),
    weather: prop(
      'forecast',
      'Forecasts the weather of a place for one day, today or up to 7 days ahead.',
      { place: text('Town or city: "Lisbon".'), date: maybe(text('Day as YYYY-MM-DD. Leave it out for today.')) },
      (values) => ({ ...values, ...rain, source: 'stand-in' }),
    ),
    reminder: prop(
      'setAlarm',
      'Sets an alarm or reminder that goes off by itself. Use it when someone asks to be reminded or woken.',
      { time: text('When: ISO 8601 date-time with the UTC offset.'), message: text('What to say then.') },
      (values) => ({ id: 'a1', ...values }),
    ),
    root: prop(
      'squareRoot',
      'Computes the square root of a number.',
      { number: number('The number, zero or above.') },
      (values) => ({ ...values, value: String(Math.sqrt(Number(values.number))), exact: false }),
    ),
    customer: prop(
      'getCustomer',
      'Looks up one customer by number. Answers name, company, email, plan and the number of open orders.',
      { id: integer('The customer number, such as 42.') },
      ({ id }) => ({ id, name: 'Ada Okafor', plan: 'enterprise' }),
    ),
  },
  odd: {
    clock: prop(
      'sundial',
      'What the clock on the wall says right now, for any zone of the tz database',
      { zone: text('tz database name') },
      ({ zone }) => clockIn(String(zone)).dateTime,
    ),
    weather: prop(
      'skies',
      'Outlook for outdoor conditions: precipitation and temperature',
      { where: text('Name of the town'), day: maybe(text('Calendar day as YYYY-MM-DD; leave out for today')) },
      ({ where, day = 'today' }) => `${String(where)}, ${String(day)}: rain, 6 degrees.`,
    ),
    reminder: prop(
      'egg_timer',
      'Starts a countdown and speaks up when it ends',
      { seconds: integer('Length in seconds'), label: maybe(text('What to say at the end')) },
      () => ({ timerId: 7 }),
    ),
    root: prop('radix', 'Takes the square root', { value: number('') }, ({ value }) => Math.sqrt(Number(value))),
    customer: prop(
      'who_buys',
      'Everything on file about one of our buyers',
      { ref: text('Customer reference') },
      ({ ref }) => `${String(ref)}: Ada Okafor, enterprise plan, since 2021.`,
    ),
  },
  chinese: {
    clock: prop(
      'shijian',
      '查询指定时区的当前日期和时间',
      { shiqu: maybe(text('IANA 时区名称，例如 Asia/Shanghai')) },
      ({ shiqu = 'Europe/Copenhagen' }) => clockIn(String(shiqu)),
    ),
    weather: prop(
      'tianqi',
      '查询某个城市的天气预报',
      { chengshi: text('城市名称'), riqi: maybe(text('日期，格式 YYYY-MM-DD')) },
      (values) => ({ ...values, ...rain }),
    ),
    reminder: prop(
      'naozhong',
      '设置闹钟，到时提醒用户',
      { shike: text('ISO 8601 日期时间，带时区偏移'), neirong: text('提醒内容') },
      () => ({ ok: true }),
    ),
    root: prop('kaifang', '计算一个数的平方根', { shu: number('被开方数') }, ({ shu }) => ({
      结果: Math.sqrt(Number(shu)),
    })),
    customer: prop('kehu', '根据编号查询客户信息', { bianhao: integer('客户编号') }, ({ bianhao }) => ({
      编号: bianhao,
      姓名: 'Ada Okafor',
    })),
  },
  verbose: {
    clock: prop(
      'get_current_datetime',
      'Use this tool whenever the user asks about the current date or time. It returns the local date and time.',
      { timezone: maybe(text('The IANA timezone identifier. If omitted, the local one is used.')) },
      ({ timezone = 'Europe/Copenhagen' }) => clockIn(String(timezone)).dateTime,
    ),
    weather: prop(
      'get_weather_forecast',
      'Use this tool to retrieve the weather forecast for a specific city on a specific date.',
      {
        city: text('The name of the city'),
        date: text('The date in YYYY-MM-DD format'),
        units: maybe({ type: 'string', enum: ['metric', 'imperial'], default: 'metric' }),
      },
      (values) => ({ ...values, conditions: 'Showers', rain_probability: 0.8, temp_c: 7 }),
    ),
    reminder: prop(
      'create_reminder',
      'Use this tool to create a reminder for the user. It will be delivered at the specified time.',
      {
        remind_at: text('ISO 8601 timestamp of when to remind the user, including UTC offset'),
        text: text('The text of the reminder'),
        priority: maybe({ type: 'string', enum: ['low', 'normal', 'high'] }),
      },
      () => ({ reminder_id: 'r-9', status: 'scheduled' }),
    ),
    root: prop(
      'compute_square_root',
      'Use this tool to compute the square root of a non-negative number.',
      { n: number('The number whose square root is to be computed') },
      ({ n }) => ({ result: Math.sqrt(Number(n)) }),
    ),
    customer: prop(
      'lookup_customer_by_id',
      'Use this tool to look up a customer in the CRM system by the numeric customer ID.',
      { customer_id: integer('The numeric ID of the customer') },
      ({ customer_id }) => ({ customer: { id: customer_id, name: 'Ada Okafor' } }),
    ),
  },
}

const nothing = (): string => 'n/a'

/** Tools of other trades, some of them near enough to be mistaken. None is ever the right one here. */
export const DISTRACTORS: readonly Prop[] = [
  prop(
    'send_email',
    'Write and send an email',
    { to: text('Recipient', { format: 'email' }), body: text('Body') },
    nothing,
  ),
  prop(
    'convert_time',
    'Converts a time from one time zone to another',
    { time: text('ISO date-time'), from: text('IANA zone'), to: text('IANA zone') },
    nothing,
  ),
  prop('air_quality', 'Air quality index of a city', { city: text('City') }, nothing),
  prop('list_events', 'Lists calendar events of a day', { date: text('ISO date') }, nothing),
  prop(
    'create_event',
    'Creates a calendar event',
    { title: text('Title'), start: text('ISO date-time'), end: text('ISO date-time') },
    nothing,
  ),
  prop('log_time', 'Logs hours worked on a project', { hours: number('Hours'), project: text('Project') }, nothing),
  prop('delete_customer', 'Deletes a customer for good', { id: integer('Customer id') }, nothing),
  prop(
    'update_customer',
    'Changes the plan of a customer',
    { id: integer('Customer id'), plan: text('New plan') },
    nothing,
  ),
  prop('customer_orders', 'Lists the orders of a customer', { customerId: integer('Customer id') }, nothing),
  prop('list_customers', 'Lists all customers', { page: maybe(integer('Page')) }, nothing),
  prop('cube_root', 'Computes the cube root of a number', { number: number('Number') }, nothing),
  prop(
    'convert_currency',
    'Converts an amount between currencies',
    { amount: number('Amount'), from: text('Code'), to: text('Code') },
    nothing,
  ),
  prop('stock_price', 'Latest price of a stock', { symbol: text('Ticker symbol') }, nothing),
  prop('play_music', 'Plays a song', { song: text('Song title') }, nothing),
  prop('refund_policy', 'Explains our refund policy', {}, nothing),
  prop('opening_hours', 'Tells the opening hours of our shop', {}, nothing),
  prop('quote_of_the_day', 'Fetches an inspiring quote', {}, nothing),
  prop('roll_dice', 'Rolls dice', { sides: integer('Number of sides') }, nothing),
  prop('search_news', 'Searches the news', { query: text('Query') }, nothing),
  prop(
    'sunrise',
    'Times of sunrise and sunset at a place on a date',
    { place: text('City'), date: text('ISO date') },
    nothing,
  ),
  prop('create_ticket', 'Opens a support ticket', { title: text('Title') }, nothing),
  prop('uuid', 'Generates a random UUID', {}, nothing),
  prop('set_thermostat', 'Sets the thermostat to a temperature', { celsius: number('Degrees') }, nothing),
]
