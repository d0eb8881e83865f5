/**
 * Derives the kind of value that a field of an input schema takes from its type, format, name and description: an
 * instant, a date, a duration in some unit, a time zone, a place, a number, an expression, a text … If they disagree, a
 * format that the description states wins, then the name, then the topic of the description.
 */
import { isObject, type JsonSchema } from '../../contract/json.ts'

export type Kind =
  | 'instant'
  | 'date'
  | 'clock'
  /** Words about time, such as `in 10 minutes`, for a tool that parses them itself. */
  | 'phrase'
  /** A number of time units from now. */
  | 'duration'
  /** An ISO 8601 duration, such as `PT10M`. */
  | 'period'
  | 'epoch'
  /** One part of a date or time of day, named by `unit`. */
  | 'part'
  | 'zone'
  | 'place'
  | 'number'
  | 'id'
  | 'sum'
  | 'email'
  | 'url'
  | 'text'
  | 'enum'
  | 'boolean'
  | 'object'
  | 'array'

export interface Field {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  readonly types: readonly string[]
  readonly kind: Kind
  /** The unit of a duration or an epoch (second, minute …), or the name of a part (hour, month …). */
  readonly unit: string
  /** Whether the field must be present and not null. */
  readonly required: boolean
  /** Whether the field must be present, but may be null. */
  readonly isNullable: boolean
  /** The properties of an object, or the item of an array. */
  readonly fields: readonly Field[]
}

/**
 * Returns the fields of an object schema. `hint` is a tool's error message: it counts as part of the description of the
 * fields that it names, or of the only field.
 */
export function fieldsOf(schema: JsonSchema, hint = ''): readonly Field[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  const properties = isObject(schema.properties) ? schema.properties : {}
  const entries = Object.entries(properties)
  const named = new Set(hint.split(/\W+/))
  return entries.flatMap(([name, property]) => {
    const isMeant = entries.length === 1 || named.has(name)
    return isObject(property) ? fieldOf(name, property, required.includes(name), isMeant ? hint : '') : []
  })
}

function fieldOf(name: string, property: JsonSchema, required: boolean, hint: string): Field {
  const options = [property.anyOf, property.oneOf].find(Array.isArray)?.filter(isObject) ?? []
  const schema = { ...options.find((option) => option.type !== 'null'), ...property }
  const expected = /expected (?:an? )?(number|integer|string|boolean)/i.exec(hint)?.[1]
  const stated = [expected, ...[property, ...options].flatMap((option) => option.type)].filter(
    (type) => typeof type === 'string',
  )
  const types = stated.filter((type) => type !== 'null')
  const type = types[0] ?? 'string'
  const format = typeof schema.format === 'string' && `format ${schema.format}`
  const said = [schema.title, schema.description, format, hint].filter((text) => typeof text === 'string' && text)
  const description = said.join('; ')
  const words = name
    .replace(/[_-]/g, ' ')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
  const isNullable = stated.includes('null')
  return {
    name,
    description,
    schema,
    types: [type, ...types.slice(1)],
    ...kindOf(words, type, schema, description.toLowerCase()),
    required: required && !isNullable,
    isNullable: required && isNullable,
    fields: isObject(schema.items) ? [fieldOf(name, schema.items, true, hint)] : fieldsOf(schema, hint),
  }
}

const UNITS = /\b(m)(?:illi)?s(?:ec\w*)?\b|\b(s)(?:ec(?:ond)?s?)?\b|\b(mi)n(?:ute)?s?\b|\b(h)(?:ou)?rs?\b|\b(d)ays?\b/
const UNIT_NAMES: Readonly<Record<string, string>> = { m: 'ms', s: 'second', mi: 'minute', h: 'hour', d: 'day' }
const IS_WAIT = /\b(?:in|after|wait|delay|duration|length|within|from (?:now|today)|how long|until)\b/

/** The kinds of string fields. The first entry with a pattern that matches the name or the description counts. */
const STRINGS: readonly (readonly [kind: Kind, name: RegExp | undefined, description: RegExp | undefined])[] = [
  ['zone', /\b(?:time ?zone|tz|zone)\b/, /\b(?:iana|tz database)\b|时区名/],
  ['email', /\be?mail\b/, /format email|e-?mail address/],
  ['url', /\b(?:url|uri|link|href)\b/, /format ur[il]/],
  ['phrase', undefined, /natural language|relative (?:date|time)|["'`](?:in )?(?:tomorrow|\d+ minutes?)["'`]/],
  ['period', undefined, /\bpt\d+[hms]|iso.{0,12}duration|format duration/],
  ['instant', /\bdate ?time\b/, /date-?time|rfc.?3339|\dt\d|offset|timestamp|date and time|日期时间/],
  ['zone', undefined, /\btime ?zones?\b|时区/],
  ['clock', undefined, /hh:mm|time of day|format time$|\b\d\d:\d\d\b/],
  ['date', /\b(?:date|day)\b/, /yyyy-mm-dd|\biso date|format date$|日期/],
  ['instant', /\b(?:timestamp|instant|moment)\b/, undefined],
  ['sum', /\b(?:expression|formula|equation)\b/, /\b(?:expression|formula|arithmetic)\b|表达式/],
  ['place', /\b(?:city|town|place|loc|location|locality|where|region|country|area)\b/, undefined],
  ['text', /\b(?:message|msg|text|what|note|label|title|body|content|subject|task|reason|query|name)\b/, undefined],
  ['id', /\b(?:id|number|no|nr|key|ref)\b/, undefined],
  ['date', undefined, /\bdate\b|\bwhich day\b|\bthe day\b/],
  ['instant', /\b(?:at|when|time|due|start|end)\b/, /\biso.?8601|\binstant\b|\bmoment\b/],
  ['place', undefined, /\b(?:city|town|place|location|region|country)\b|城市|地点/],
  ['id', undefined, /\b(?:id|identifier|number|reference)\b|编号/],
]

function kindOf(name: string, type: string, schema: JsonSchema, description: string): { kind: Kind; unit: string } {
  const unitIn = (text: string): string => UNIT_NAMES[UNITS.exec(text)?.slice(1).find(Boolean) ?? ''] ?? ''
  if (schema.enum || schema.const !== undefined) return { kind: 'enum', unit: '' }
  if (type === 'boolean' || type === 'object' || type === 'array') return { kind: type, unit: '' }
  if (type === 'number' || type === 'integer') {
    if (/epoch|unix|timestamp/.test(`${name} ${description}`))
      return { kind: 'epoch', unit: unitIn(`${name} ${description}`) }
    if (/^(?:hour|minute|year|month|day)$/.test(name) && !IS_WAIT.test(description)) return { kind: 'part', unit: name }
    const unit = unitIn(name) || (IS_WAIT.test(`${name} ${description}`) ? unitIn(description) : '')
    if (unit) return { kind: 'duration', unit }
    return { kind: /\b(?:id|no|nr|key|ref|number)\b/.test(name) ? 'id' : 'number', unit: '' }
  }
  const found = STRINGS.find(([, inName, inDescription]) => inName?.test(name) || inDescription?.test(description))
  const unit = unitIn(name)
  return found ? { kind: found[0], unit: '' } : { kind: unit ? 'duration' : 'text', unit }
}
