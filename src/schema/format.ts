type Format = readonly [holds: (text: string) => boolean, words?: string]

/** The formats that are checked, each with a description for messages. Any other format is only a hint to the model. */
export const FORMATS: ReadonlyMap<unknown, Format> = new Map<unknown, Format>([
  ['date', [isDate, 'a date such as 2026-01-31']],
  ['time', [isTime, 'a time with its zone, such as 14:30:00Z']],
  ['date-time', [isDateTime, 'a date and time with its zone, such as 2026-01-31T14:30:00Z']],
  ['email', [(text) => /^[^\s@]+@[^\s@]+$/.test(text)]],
  ['hostname', [(text) => /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.(?!$)|$))+$/i.test(text)]],
  ['ipv4', [(text) => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text)]],
  ['ipv6', [(text) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)]],
  ['uri', [(text) => /^[a-z][a-z\d+.-]*:[^\s"<>\\^`{|}]*$/i.test(text) && URL.canParse(text)]],
  ['uuid', [(text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)]],
])

/** Checks the day as well: `Date` takes the 31st of a shorter month for a day of the next one. */
function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && (new Date(text).toJSON() ?? '').startsWith(text)
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(text)
}

function isDateTime(text: string): boolean {
  const [date = '', time = '', more] = text.split(/t/i)
  return isDate(date) && isTime(time) && more === undefined
}
