import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mendJson } from '../../src/schema/mend-json.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', "it's", '"', '{', '}', ', ', '```', 'True', '\\'),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      text,
      fc.integer(),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((number) => (Number.isInteger(number) && !Number.isSafeInteger(number) ? 0.5 : number || 0)),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const object = fc.dictionary(text, value, { maxKeys: 5, noNullPrototype: true })

interface Dress {
  readonly fence: string | undefined
  readonly prose: string
  readonly comma: string
  readonly isPython: boolean
  readonly hasNames: boolean
  readonly gap: string
}

const dress: fc.Arbitrary<Dress> = fc.record({
  fence: fc.constantFrom(undefined, '', 'json', 'python'),
  prose: fc.constantFrom('', 'Here are the arguments: ', "I'll call it with\n\n"),
  comma: fc.constantFrom('', ',', ' ,\n'),
  isPython: fc.boolean(),
  hasNames: fc.boolean(),
  gap: fc.constantFrom('', ' ', '\n  '),
})

/** Writes a value as a model that takes JSON for Python or JavaScript does. */
function written(value: unknown, how: Dress): string {
  const { comma, gap, isPython, hasNames } = how
  if (typeof value === 'string') return isPython ? pythonText(value) : JSON.stringify(value)
  if (isPython && (value === null || typeof value === 'boolean')) {
    return value === null ? 'None' : value ? 'True' : 'False'
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map((item) => written(item, how))
    : Object.entries(value).map(([key, inner]) => {
        const isName = hasNames && /^[A-Za-z_$][\w$]*$/.test(key)
        return `${isName ? key : written(key, how)}:${gap}${written(inner, how)}`
      })
  const list = `${gap}${parts.join(`,${gap}`)}${parts.length > 0 ? comma : ''}`
  return Array.isArray(value) ? `[${list}]` : `{${list}}`
}

/** Python writes a text in double quotes if it has single quotes and no double ones. */
function pythonText(value: string): string {
  const plain = JSON.stringify(value)
  return value.includes("'") ? plain : `'${plain.slice(1, -1).replaceAll('\\"', '"')}'`
}

function dressed(value: unknown, how: Dress): string {
  const body = written(value, how)
  return how.fence === undefined ? `${how.prose}${body}` : `${how.prose}\`\`\`${how.fence}\n${body}\n\`\`\``
}

test('an object with every kind of repairable decoration is repaired to the same object', () => {
  const property = fc.property(object, dress, (value, how) => {
    // A text with a fence inside a fence is refused, since it may be two.
    fc.pre(how.fence === undefined || !JSON.stringify(value).includes('```'))
    expect(mendJson(dressed(value, how))).toEqual(value)
  })
  fc.assert(property, { numRuns: 1000 })
})

test('an object that is truncated at any position is refused', () => {
  const property = fc.property(object, dress, (value, how) => {
    const body = written(value, how)
    const text = dressed(value, how)
    const end = how.fence === undefined ? text.lastIndexOf(body) + body.trimEnd().length : text.length
    for (let length = 0; length < end; length++) expect(mendJson(text.slice(0, length))).toBeUndefined()
  })
  fc.assert(property, { numRuns: 200 })
})

test('valid JSON that is accepted is parsed as JSON.parse does', () => {
  const property = fc.property(fc.oneof(object, fc.array(value)), (value) => {
    expect(mendJson(JSON.stringify(value))).toEqual(value)
  })
  fc.assert(property, { numRuns: 500 })
})

describe('ambiguous or unreadable text is refused:', () => {
  test.each([
    ['two objects', '{"a":1} {"a":2}'],
    ['prose after the object', '{"a":1} is what I call it with'],
    ['prose with a bracket', 'the [first] call: {"a":1}'],
    ['a quote within a text', `{'a': 'it's'}`],
    ['double quotes within a text', '{"a": "say "hi""}'],
    ['the same key twice', `{'a': 1, 'a': 2}`],
    ['an item that is missing', '[1,,2]'],
    ['a comma alone', '{,}'],
    ['a value that is missing', '{"a":}'],
    ['a word', '{"a": yes}'],
    ['undefined and NaN', '{"a": undefined, "b": NaN}'],
    ['a number in another notation', '{"a": 0x10}'],
    ['a number with a unit', '{"a": 12px}'],
    ['an escape that JSON lacks', String.raw`{"a": "\d+"}`],
    ['a fence that is not closed', '```json\n{"a":1}'],
    ['a tuple', '{"a": (1, 2)}'],
    ['nothing', ''],
    ['prose alone', 'I cannot do that.'],
    ['brackets of another kind at the end', '{"a":[1}]'],
    ['what is too deep', `{"a":${'['.repeat(200)}${']'.repeat(200)},}`],
  ])('%s', (_, text) => {
    expect(mendJson(text)).toBeUndefined()
  })
})
