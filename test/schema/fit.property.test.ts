// oxlint-disable unicorn/no-thenable -- a keyword of JSON Schema

import { type SchemaDraft, Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSchema } from '../../src/schema/check.ts'
import { misfits } from '../../src/schema/fit.ts'

type Schema = Record<string, unknown> | boolean
type Keywords = Record<string, fc.Arbitrary<unknown>>

function mapOf(keys: fc.Arbitrary<string>, values: fc.Arbitrary<unknown>, maxKeys: number): fc.Arbitrary<unknown> {
  return fc.dictionary(keys, values, { maxKeys, noNullPrototype: true })
}

const key = fc.constantFrom('a', 'b', 'ab', 'c/d', '%', 'constructor')
const text = fc.constantFrom('', 'a', 'b', 'ab', 'abc', '💩', 'é', 'a b')
const number = fc.constantFrom(0, 1, -1, 2, 3, 1.5, 0.1, 0.3, 10, 1e6, -0)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    mapOf(key, tie('value'), 4),
  ),
}))

const count = fc.integer({ min: 0, max: 3 })
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null')
const pattern = fc.constantFrom('^a', 'b$', '^[ab]+$', '.', '^\\p{L}$', 'c/')
const names = fc.uniqueArray(key, { maxLength: 2 })

const ANY: Keywords = {
  type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
  enum: fc.array(value, { minLength: 1, maxLength: 3 }),
  const: value,
}
const NUMBERS: Keywords = {
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: fc.constantFrom(1, 2, 3, 0.5),
}
const TEXTS: Keywords = { minLength: count, maxLength: count, pattern }

/** Any one of the keywords alone. */
function one(keywords: Keywords): fc.Arbitrary<Record<string, unknown>> {
  return fc.oneof(...Object.entries(keywords).map(([name, limit]) => limit.map((each) => ({ [name]: each }))))
}

function some(keywords: Keywords): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(keywords, { requiredKeys: [], noNullPrototype: true })
}

/** Schemas whose references lead to the parts that each document of `documents` has under the same names. */
function schemas(draft: 'draft-07' | '2020-12', parts: string): fc.Arbitrary<Schema> {
  const isNew = draft === '2020-12'
  return fc.letrec<{ schema: Schema }>((tie) => {
    const inner = tie('schema')
    const list = fc.array(inner, { minLength: 1, maxLength: 3 })
    const logic = { allOf: list, anyOf: list, oneOf: list, not: inner, if: inner, then: inner, else: inner }
    const ofLists = {
      contains: inner,
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      ...(isNew
        ? { prefixItems: list, items: inner, minContains: count, maxContains: count, unevaluatedItems: inner }
        : { items: fc.oneof(inner, list), additionalItems: inner }),
    }
    const ofObjects = {
      properties: mapOf(key, inner, 3),
      patternProperties: mapOf(pattern, inner, 2),
      additionalProperties: inner,
      propertyNames: inner,
      required: names,
      minProperties: count,
      maxProperties: count,
      ...(isNew
        ? {
            dependentRequired: mapOf(key, names, 2),
            dependentSchemas: mapOf(key, inner, 3),
            unevaluatedProperties: inner,
          }
        : { dependencies: mapOf(key, fc.oneof(names, inner), 3) }),
    }
    const $ref = fc.constantFrom('#', `#/${parts}/a`, `#/${parts}/ab`, `#/${parts}/c~1d`, `#/${parts}/%25`)
    return {
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(fc.boolean(), fc.constant({}), one(ANY), one(NUMBERS), one(TEXTS)),
        fc.record({ $ref, minLength: count }, { requiredKeys: ['$ref'], noNullPrototype: true }),
        one(logic),
        one(ofObjects),
        one(ofLists),
        some(ANY),
        some({ ...ANY, ...NUMBERS, ...TEXTS }),
        some({ type, ...ofObjects }),
        some({ type, ...ofLists }),
        some({ ...ANY, ...logic }),
      ),
    }
  }).schema
}

test.each<[SchemaDraft, 'draft-07' | '2020-12', string, string]>([
  ['2020-12', '2020-12', '$defs', 'https://json-schema.org/draft/2020-12/schema'],
  ['7', 'draft-07', 'definitions', 'http://json-schema.org/draft-07/schema#'],
])('%s: validation agrees with @cfworker/json-schema', (theirs, draft, parts, $schema) => {
  const any = schemas(draft, parts)
  const documents = fc.record({ root: any, a: any, ab: any, 'c/d': any, '%': any }).map(({ root, ...named }) => ({
    ...(typeof root === 'boolean' ? { allOf: [root] } : root),
    $schema,
    [parts]: named,
  }))
  const property = fc.property(documents, value, (schema, value) => {
    fc.pre(checkSchema(schema, 'any').length === 0)
    expect(misfits(schema, value).length === 0).toBe(isValid(schema, theirs, value))
  })
  fc.assert(property, { numRuns: 2000 })
})

/** It does not find the references within `dependencies`: such schemas are passed over. */
function isValid(schema: Record<string, unknown>, draft: SchemaDraft, value: unknown): boolean {
  try {
    return new Validator(structuredClone(schema), draft).validate(value).valid
  } catch (error) {
    fc.pre(!String(error).includes('Unresolved $ref'))
    throw error
  }
}
