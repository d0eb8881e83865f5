/** Converts names of fields to words: `openOrders` to `open orders`, or 未结订单 in Chinese. */

/** Returns the words of a name, in lower case. */
export function wordsIn(key: string): readonly string[] {
  const spaced = key.replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
  return spaced
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter(Boolean)
}

/** Returns a name for display: in lower case, except for abbreviations such as `ID` or `EUR`. */
export function shown(key: string): string {
  const isShort = (word: string): boolean => new RegExp(`(?<![A-Z])${word.toUpperCase()}(?![A-Z][A-Z])`).test(key)
  return wordsIn(key)
    .map((word) => (/^[a-z]{2,}$/.test(word) && isShort(word) ? word.toUpperCase() : word))
    .join(' ')
}

const HAN_NAMES: Readonly<Record<string, string>> = {
  name: '姓名',
  company: '公司',
  firm: '公司',
  email: '邮箱',
  phone: '电话',
  address: '地址',
  plan: '套餐',
  tier: '等级',
  'open orders': '未结订单',
  'unpaid orders': '未付订单',
  orders: '订单',
  order: '订单',
  customers: '客户',
  customer: '客户',
  bookings: '预订',
  booking: '预订',
  alarms: '提醒',
  alarm: '提醒',
  reminders: '提醒',
  nudges: '提醒',
  mails: '邮件',
  events: '日程',
  items: '项目',
  place: '地点',
  city: '城市',
  location: '地点',
  date: '日期',
  day: '日期',
  time: '时间',
  weekday: '星期',
  'time zone': '时区',
  precipitation: '降水量',
  'rain probability': '降水概率',
  humidity: '湿度',
  'wind speed': '风速',
  wind: '风速',
  state: '状态',
  status: '状态',
  guest: '客人',
  room: '房型',
  'check in': '入住',
  'check out': '退房',
  price: '价格',
  total: '总计',
  value: '结果',
  result: '结果',
  message: '内容',
  subject: '主题',
  to: '收件人',
  from: '起始',
  source: '来源',
  id: '编号',
  number: '编号',
}

/** Returns the Chinese name of a field, or undefined if it is not known. */
export function hanName(name: string): string | undefined {
  return Object.hasOwn(HAN_NAMES, name) ? HAN_NAMES[name] : undefined
}

/** Formats `name: value`, for fields without a better phrase. */
export function labelled(name: string, value: string, han: boolean): string {
  if (name === '') return value
  if (!han) return /^(?:to|from|by|for|in|at|until|since)$/.test(name) ? `${name} ${value}` : `${name}: ${value}`
  const known = hanName(name)
  return known === undefined ? `${name}：${value}` : `${known} ${value}`
}
