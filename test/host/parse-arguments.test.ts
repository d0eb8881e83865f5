import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { defineTool } from 'edgecall/tool'
import { parseArguments } from '../../src/host/execute.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { text } from './source/calls.ts'

test.each<[string, string, object]>([
  ['an object', '{"a":[1,null]}', { a: [1, null] }],
  ['nothing', '  ', {}],
  ['null', 'null', {}],
  ['empty text', '""', {}],
  ['an object as text', '"{\\"a\\":1}"', { a: 1 }],
])('arguments are read from %s', (_, written, value) => {
  expect(parseArguments('x', written)).toEqual({ ok: true, value })
})

test.each<[string, string, string]>([
  ['an array', '[1]', 'received an array'],
  ['a number', '5', 'received 5'],
  ['text', '"hello"', 'received "hello"'],
  ['false', 'false', 'received false'],
  ['half of it', '{"a":', 'Unexpected end of JSON input'],
  ['what is too deep', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, 'nested over 100 levels deep'],
  ['half of it as text', '"{\\"a\\":"', 'Unexpected end of JSON input'],
])('arguments are not read from %s', (_, written, reason) => {
  expect(parseArguments('x', written)).toEqual({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message: `The arguments of "x" are not a JSON object: ${reason}. Send one JSON object that fits its schema.`,
    },
  })
})

test.each<[string, string, object]>([
  ['a code fence', '```json\n{"a":1}\n```', { a: 1 }],
  ['prose before it', 'Here it is: {"a":1}', { a: 1 }],
  ['a comma too many', '{"a":[1,2,],}', { a: [1, 2] }],
  ['the words of Python', "{'a': True, 'b': None, 'c': \"it's\"}", { a: true, b: null, c: "it's" }],
  ['names as keys', '{a: {b: 1}}', { a: { b: 1 } }],
  ['digits that a number cannot hold', "{'a': 12345678901234567891}", { a: '12345678901234567891' }],
  ['a string around it', JSON.stringify("{'a': 1}"), { a: 1 }],
])('an object with %s is repaired', (_, written, value) => {
  expect(parseArguments('x', written)).toEqual({ ok: true, value })
})

test.each(['{"a":1', "{'a': 'b", '{a: 1,', '```json\n{"a":1}', 'Here it is: {"a":{"b":1}'])(
  'a truncated object is refused: %s',
  (written) => {
    expect(parseArguments('x', written)).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } })
  },
)

describe('numbers in arguments', () => {
  test.each<[string, unknown]>([
    ['9007199254740991', 9007199254740991],
    ['-9007199254740993', '-9007199254740993'],
    ['9007199254740992', 9007199254740992],
    ['12345678901234567890', '12345678901234567890'],
    ['100000000000000000000', 100000000000000000000],
    ['1e300', 1e300],
    ['1e400', '1e400'],
    ['0.1', 0.1],
    ['10.50', 10.5],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['9007199254740991.4', '9007199254740991.4'],
    ['1.00000000000000000001', '1.00000000000000000001'],
    ['1.0000000000000000000', 1],
    ['18446744073709551616', '18446744073709551616'],
    ['1e-400', '1e-400'],
    ['1.5E+3', 1500],
    ['-0', -0],
  ])('such as %s are read as themselves, as a number or as its text', (written, value) => {
    expect(parseArguments('x', `{"a":[${written}]}`)).toEqual({ ok: true, value: { a: [value] } })
    expect(parseArguments('x', JSON.stringify(`{"a":[${written}]}`))).toEqual({ ok: true, value: { a: [value] } })
  })

  const parse = (written: string) => {
    const parsed = parseArguments('x', `{"it":${written}}`)
    return parsed.ok ? parsed.value : {}
  }
  const tool = (it: v.GenericSchema) =>
    defineTool({ name: 'x', description: 'X.', input: v.object({ it }), run: ({ it }) => `${typeof it} ${String(it)}` })

  test('keep all their digits if the schema allows it, and are never rounded to another integer', async () => {
    const digits = '12345678901234567891'
    expect(await tool(v.bigint()).call(parse(digits), CONTEXT)).toEqual(text(`bigint ${digits}`))
    expect(await tool(v.string()).call(parse(digits), CONTEXT)).toEqual(text(`string ${digits}`))
    const refusal = (number: string) => ({
      error: {
        code: 'invalid_arguments',
        message: expect.stringContaining(
          `- it: expected number, received ${number}, which has too many digits for this tool: it would become another number. Do not round it. Send it as text where a tool takes a string, or say that it cannot be sent.\n`,
        ),
      },
    })
    const fraction = '1234567890123456789.5'
    expect(await tool(v.number()).call(parse(fraction), CONTEXT)).toMatchObject(refusal(fraction))
    expect(await tool(v.pipe(v.number(), v.integer())).call(parse(digits), CONTEXT)).toMatchObject(refusal(digits))
  })
})
