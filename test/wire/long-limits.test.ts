import * as v from 'valibot'
import { expect, test } from 'vitest'
import { parseShallow } from '../../src/contract/json.ts'
import { formatSchema, parametersSchema } from '../../src/wire/schema.ts'

const SCHEMA =
  '{"type":"object","properties":{"id":{"type":"integer","minimum":1,"maximum":9223372036854775807},"maximum":{"type":"number","default":1}},"default":{"maximum":9223372036854775807}}'

test.each([parseShallow(SCHEMA), JSON.parse(SCHEMA)])(
  'limits that JavaScript cannot hold are left out of schemas',
  (schema) => {
    const { default: value } = schema
    const expected = {
      type: 'object',
      properties: { id: { type: 'integer', minimum: 1 }, maximum: { type: 'number', default: 1 } },
      default: value,
    }
    expect(v.parse(parametersSchema, schema)).toEqual(expected)
    expect(v.parse(formatSchema, schema)).toEqual(expected)
  },
)

test('a schema without such limits is not copied', () => {
  const schema = { type: 'object', properties: { id: { type: 'integer', maximum: 5 } } }
  expect(v.parse(formatSchema, schema)).toBe(schema)
})
