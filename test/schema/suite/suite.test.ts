import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bundle } from './bundle.ts'
import { checkSchema } from '../../../src/schema/check.ts'
import { issuesOf } from '../../../src/schema/validate.ts'

type Schema = Readonly<Record<string, unknown>> | boolean

interface Group {
  readonly file: string
  readonly description: string
  readonly schema: Schema
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

interface Suite {
  /** The documents that its schemas refer to, by URI. */
  readonly remotes: Readonly<Record<string, unknown>>
  readonly groups: readonly Group[]
}

/** Returns the required tests of the JSON Schema Test Suite for a version (see README.md). */
function read(version: string): Suite {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${version}.json`), 'utf8'))
}

/** Returns the tests whose verdict is another one here, with the documents that they refer to bundled. */
function differences({ remotes, groups }: Suite, $schema: string): string[] {
  return groups.flatMap(({ file, description, schema, tests }) => {
    const own = typeof schema === 'boolean' ? schema : { $schema, ...schema }
    const bundled = typeof own === 'boolean' ? own : bundle(own, (uri) => remotes[uri])
    const isSound = checkSchema(bundled, 'any').length === 0
    return tests
      .filter(({ data, valid }) => !isSound || (issuesOf(bundled, data).length === 0) !== valid)
      .map((each) => `${file}: ${description}: ${each.description}`)
  })
}

/** The formats whose wrong values the suite accepts: they are only annotations for it. */
const FORMATS = ['email', 'ipv4', 'ipv6', 'hostname', 'date', 'date-time', 'time', 'uri', 'uuid']
const KINDS = ['string', 'number', 'null', 'object', 'array', 'boolean']

describe('the JSON Schema Test Suite agrees', () => {
  test('on 2020-12, but for formats, lists of no values, and the vocabularies of metaschemas, which are not read', () => {
    expect(differences(read('2020-12'), 'https://json-schema.org/draft/2020-12/schema')).toEqual([
      // No argument could ever fit such a schema, so it is refused with its definition.
      ...KINDS.map((kind) => `enum: empty enum: ${kind} is invalid`),
      // A model is told that a date is none, rather than the tool.
      ...FORMATS.map((name) => `format: ${name} format: invalid ${name} string is only an annotation by default`),
      'vocabulary: schema that uses custom metaschema with with no validation vocabulary: no validation: invalid number, but it still validates',
    ])
  })

  test('on draft-07', () => {
    expect(differences(read('draft-07'), 'http://json-schema.org/draft-07/schema#')).toEqual([])
  })
})
