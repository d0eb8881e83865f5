/** Tells what kind of value a field of an input schema takes, from its type, format, name and description. */

export type Kind =
  | ('instant' | 'date' | 'duration' | 'zone')
  | ('place' | 'person' | 'currency' | 'email' | 'url' | 'id' | 'number' | 'expression' | 'text')
  | ('enum' | 'boolean' | 'object')

export interface Field {
  readonly name: string
  /** The name as words, in lower case. */
  readonly words: string
  readonly description: string
  readonly types: readonly string[]
  readonly kind: Kind
  /** The unit of a duration. */
  readonly unit: string
  readonly isRequired: boolean
  readonly options: readonly unknown[]
  readonly initial: unknown
}

export type Row = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the fields of an object schema. */
export function fieldsOf(schema: unknown): readonly Field[] {
  const { properties, required } = isObject(schema) ? schema : {}
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const entries = Object.entries(isObject(properties) ? properties : {})
  return entries.flatMap(([name, property]) =>
    isObject(property) ? fieldOf(name, property, needed.includes(name)) : [],
  )
}

function fieldOf(name: string, property: Row, isRequired: boolean): Field {
  const alternatives = [property['anyOf'], property['oneOf']].find(Array.isArray)?.filter(isObject) ?? []
  const schema: Row = { ...alternatives.find(({ type }) => type !== 'null'), ...property }
  const stated = [property, ...alternatives].flatMap(({ type }) => type).filter((type) => typeof type === 'string')
  const types = stated.filter((type) => type !== 'null')
  const format = typeof schema['format'] === 'string' && `format ${schema['format']}`
  const texts = [schema['title'], schema['description'], format].filter((text) => typeof text === 'string')
  const description = texts.join('; ')
  const words = wordsIn(name)
  const options = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : []
  return {
    name,
    words,
    description,
    types: types.length > 0 ? types : ['string'],
    ...kindOf(words, options.length > 0 ? 'enum' : (types[0] ?? 'string'), description.toLowerCase()),
    isRequired: isRequired && types.length === stated.length,
    options,
    initial: schema['default'],
  }
}

/** Splits an identifier into words in lower case: `timeZone` and `time_zone` into `time zone`. */
export function wordsIn(name: string): string {
  return name
    .replace(/[_-]/g, ' ')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
}

/** The units of durations, with the part of their names that tells them. */
const UNITS = /\b(?:ms|millisecond|second|sec|minute|min|hour|day|week|month|year)s?\b/
const IS_WAIT = /\b(?:in|after|wait|delay|duration|length|within|from now|how long|until|add)\b/

/** The kinds of texts. The first entry counts whose pattern matches the name or the description. */
const TEXTS: readonly (readonly [kind: Kind, name: RegExp | undefined, description?: RegExp])[] = [
  ['zone', /\b(?:time ?zone|tz|zone)\b/, /\b(?:iana|tz database)\b|时区/],
  ['email', /\be?mail\b/, /format email|e-?mail address/],
  ['url', /\b(?:url|uri|link|href)\b/, /format ur[il]/],
  ['currency', /\bcurrency\b/, /\biso.?4217\b|\bcurrency\b/],
  ['instant', /\b(?:date ?time|timestamp)\b/, /date-?time|rfc.?3339|\dt\d|offset|timestamp|date and time|日期时间/],
  ['date', /\b(?:date|day)\b/, /yyyy-mm-dd|\biso date|format date$|日期/],
  ['expression', /\b(?:expression|formula|equation)\b/, /\b(?:expression|formula|arithmetic)\b|表达式/],
  ['person', /\b(?:guest|person|passenger|attendee|full name)\b/, /\b(?:full name|name of the (?:guest|person))\b/],
  ['place', /\b(?:city|town|place|loc|location|where|region|country|destination|origin)\b/],
  ['text', /\b(?:message|msg|text|what|note|label|title|body|content|subject|task|reason|query|name)\b/],
  ['id', /\b(?:id|number|no|nr|key|ref|code)\b/],
  ['instant', /\b(?:at|when|time|due|start|end)\b/, /\biso.?8601|\binstant\b|\bmoment\b/],
  ['place', undefined, /\b(?:city|town|place|location|region|country)\b|城市|地点/],
  ['id', undefined, /\b(?:id|identifier|reference)\b|编号/],
]

function kindOf(name: string, type: string, description: string): { kind: Kind; unit: string } {
  if (type === 'boolean' || type === 'enum') return { kind: type, unit: '' }
  // What is nested is left to the user of a real model.
  if (type === 'object' || type === 'array') return { kind: 'object', unit: '' }
  if (type === 'number' || type === 'integer') {
    const both = `${name} ${description}`
    const unit = (UNITS.exec(name) ?? (IS_WAIT.test(both) ? UNITS.exec(description) : null))?.[0] ?? ''
    return { kind: unit ? 'duration' : /\b(?:id|no|nr|key|ref)\b/.test(name) ? 'id' : 'number', unit }
  }
  const rule = TEXTS.find(([, inName, inDescription]) => inName?.test(name) || inDescription?.test(description))
  return { kind: rule?.[0] ?? 'text', unit: '' }
}
