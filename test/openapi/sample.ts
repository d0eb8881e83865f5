import { isObject, type JsonSchema } from '../../src/contract/json.ts'
import { issuesOf } from '../../src/schema/validate.ts'
import { textFor } from './pattern.ts'
import type { Random } from './random.ts'

/** What a place cannot hold, by the specification: the separators that its style does not escape. */
export type Alphabet = 'any' | 'header' | 'label' | 'space' | 'pipe' | 'word'

const WORDS = ['plain', 'two words', 'a&b=c', 'x+y', '100%', 'a/b', '#1', '日本 é', `"q" 'r'`, 'a,b', 'a;b', 'a|b']
const MORE = ['?x=[y]', '{id}', 'a\\b', '%2F', '😀', 'v1.2', '$top', 'x:y@z', '-5', 'true', '~*!()']
const LIMITS: Readonly<Record<Alphabet, RegExp>> = {
  any: /(?!)/,
  header: /[^\u0020-\u007e]|[,=]/,
  label: /[.=]/,
  space: / /,
  pipe: /[|,]/,
  word: /[^a-zA-Z0-9-]/,
}
const FORMATS: Readonly<Record<string, string>> = {
  date: '2024-02-29',
  'date-time': '2024-02-29T12:30:00+02:00',
  time: '12:30:00Z',
  duration: 'P1DT2H',
  uuid: '6f1d3c1e-9b1a-4c36-8a56-1f0d5f3c2b7a',
  email: 'a+b@example.com',
  uri: 'https://example.com/a?b=c&d=%20#e',
  url: 'https://example.com/a?b=c&d=%20#e',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  byte: 'YSti/w==',
}
const MOST_LEVELS = 5
const MOST_TRIES = 12

interface Sampling {
  readonly random: Random
  readonly defs: Readonly<Record<string, unknown>>
  readonly alphabet: Alphabet
}

/** Makes a value that fits a schema; undefined if none was found. */
export function sample(schema: JsonSchema, sampling: Sampling): unknown {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const value = make(schema, sampling, 0)
    if (value !== undefined && fits(schema, value, sampling.defs)) return value
  }
  return undefined
}

export function fits(schema: JsonSchema, value: unknown, defs: Readonly<Record<string, unknown>>): boolean {
  return issuesOf({ ...schema, $defs: defs }, value).length === 0
}

function pick<Each>(random: Random, all: readonly Each[]): Each | undefined {
  return all[Math.floor(random() * all.length)]
}

function make(schema: unknown, sampling: Sampling, level: number): unknown {
  const { random, defs, alphabet } = sampling
  if (!isObject(schema)) return schema === false ? undefined : makeText({}, sampling)
  const { $ref, const: only, enum: values, allOf, anyOf, oneOf, ...rest } = schema
  if (typeof $ref === 'string') {
    const target = defs[decodeURIComponent($ref.split('/').at(-1) ?? '')]
    return level > MOST_LEVELS
      ? undefined
      : make(isObject(target) ? { ...target, ...rest } : target, sampling, level + 1)
  }
  if (only !== undefined) return only
  const choices = Array.isArray(values) ? values.filter((each) => each !== null) : []
  if (choices.length > 0) {
    const safe = choices.filter((each) => !LIMITS[alphabet].test(String(each)))
    return pick(random, safe.length > 0 ? safe : choices)
  }
  if (Array.isArray(allOf)) return make(allOf.reduce(merge, rest), sampling, level)
  const branches = [anyOf, oneOf].find(Array.isArray)?.filter((each) => Object(each).type !== 'null')
  if (branches && branches.length > 0) return make(merge(rest, pick(random, branches)), sampling, level)
  return makeTyped(rest, sampling, level)
}

function merge(one: JsonSchema, other: unknown): JsonSchema {
  if (!isObject(other)) return one
  const required = [one['required'], other['required']].flatMap((each) => (Array.isArray(each) ? each : []))
  const properties = { ...Object(one['properties']), ...Object(other['properties']) }
  return {
    ...one,
    ...other,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  }
}

function makeTyped(schema: JsonSchema, sampling: Sampling, level: number): unknown {
  const { random } = sampling
  const { type, properties, items } = schema
  const types = [type].flat().filter((each) => each !== 'null' && each !== undefined)
  const wanted = pick(random, types) ?? (isObject(properties) ? 'object' : items !== undefined ? 'array' : 'string')
  if (wanted === 'boolean') return random() < 0.5
  if (wanted === 'integer' || wanted === 'number') return makeNumber(schema, random, wanted)
  if (wanted === 'array') return makeList(schema, sampling, level)
  if (wanted === 'object') return makeObject(schema, sampling, level)
  return makeText(schema, sampling)
}

function makeNumber(schema: JsonSchema, random: Random, type: string): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const least = Number(minimum ?? (exclusiveMinimum === undefined ? -3 : Number(exclusiveMinimum) + 1))
  const most = Number(maximum ?? (exclusiveMaximum === undefined ? least + 5000 : Number(exclusiveMaximum) - 1))
  const value = least + Math.floor(random() * (Math.min(most, least + 5000) - least + 1))
  if (typeof multipleOf === 'number' && multipleOf >= 1) return Math.ceil(value / multipleOf) * multipleOf
  return type === 'number' && value + 0.25 <= most && random() < 0.5 ? value + 0.25 : value
}

function makeList(schema: JsonSchema, sampling: Sampling, level: number): unknown {
  const { minItems, maxItems, items } = schema
  if (level > MOST_LEVELS) return Number(minItems ?? 0) > 0 ? undefined : []
  const least = Math.max(1, Number(minItems ?? 1))
  const count = Math.min(least + Math.floor(sampling.random() * 3), Number(maxItems ?? Infinity))
  const list = Array.from({ length: count }, () => make(items ?? {}, sampling, level + 1))
  const unique = [...new Map(list.map((each) => [JSON.stringify(each), each])).values()]
  return unique.includes(undefined) ? undefined : unique
}

function makeObject(schema: JsonSchema, sampling: Sampling, level: number): unknown {
  const { random } = sampling
  const { properties, required, additionalProperties } = schema
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const entries = Object.entries(Object(properties)).flatMap(([key, inner]): [string, unknown][] => {
    if (!needed.includes(key) && (level >= 3 || random() < 0.3)) return []
    const value = make(inner, sampling, level + 1)
    return value === undefined ? [] : [[key, value]]
  })
  for (const key of needed) {
    if (typeof key === 'string' && !entries.some(([each]) => each === key)) entries.push([key, 'x'])
  }
  if (entries.length === 0 && additionalProperties !== false)
    entries.push([
      `key_${Math.floor(random() * 1000)}`,
      make(isObject(additionalProperties) ? additionalProperties : { type: 'string' }, sampling, level + 1),
    ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function makeText(schema: JsonSchema, { random, alphabet }: Sampling): string | undefined {
  const { pattern, format, minLength, maxLength } = schema
  const all = [
    ...(typeof format === 'string' ? [FORMATS[format]] : []),
    ...(typeof pattern === 'string' ? Array.from({ length: 4 }, () => textFor(pattern, random)) : [...WORDS, ...MORE]),
  ].filter((each) => each !== undefined)
  const safe = all.filter((each) => !LIMITS[alphabet].test(each) && each.length <= Number(maxLength ?? Infinity))
  const text =
    (typeof format === 'string' && FORMATS[format] !== undefined && pattern === undefined
      ? safe[0]
      : pick(random, safe)) ?? 'x'
  return text.padEnd(Number(minLength ?? 0), 'x')
}
