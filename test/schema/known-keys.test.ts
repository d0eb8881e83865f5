import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { fittingArguments } from '../../src/schema/validate.ts'
import { defineTool } from 'edgecall/tool'
import { CONTEXT } from '../fixtures/run-context.ts'

const string = { type: 'string' }
const inputSchema = { type: 'object', properties: { city: string, firstName: string, unit_kind: string } }
/** A tool whose arguments are all optional, once stored and once in code. */
const optional = v.optional(v.string())
const tool = defineTool({
  name: 't',
  description: 'T.',
  input: v.object({ city: optional, firstName: optional, unit_kind: optional }),
  run: (input) => JSON.stringify(input),
})

describe('misnamed arguments are renamed to those of the tool:', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['all inside one key', { arguments: { city: 'Rome' } }, { city: 'Rome' }],
    ['all inside one key, as text', { input: '{"city":"Rome"}' }, { city: 'Rome' }],
    [
      'in another case',
      { City: 'Rome', FIRST_NAME: 'Ada', 'unit-kind': 'c' },
      { city: 'Rome', firstName: 'Ada', unit_kind: 'c' },
    ],
    ['in another case and inside one key', { params: { CITY: 'Rome' } }, { city: 'Rome' }],
    ['one of them in another case', { city: 'Rome', FirstName: 'Ada' }, { city: 'Rome', firstName: 'Ada' }],
  ])('%s', async (_, args, value) => {
    expect(fittingArguments({ name: 't', inputSchema }, args)).toEqual({ ok: true, value })
    expect(await tool.call(args, CONTEXT)).toMatchObject({ ok: true, content: [{ text: JSON.stringify(value) }] })
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['other names', { town: 'Rome' }, 'town'],
    ['two spellings of one name', { City: 'Rome', CITY: 'Paris' }, 'City'],
    ['one key with other names inside', { arguments: { town: 'Rome' } }, 'arguments'],
  ])('or are refused: %s', async (_, args, key) => {
    const message = `The arguments of "t" do not fit:\n- ${key}: expected city, firstName, unit_kind, received another name\nCorrect them and call again.`
    const refusal = { ok: false, error: { code: 'invalid_arguments', message } }
    expect(fittingArguments({ name: 't', inputSchema }, args)).toEqual(refusal)
    expect(await tool.call(args, CONTEXT)).toMatchObject(refusal)
  })
})

test.each<[string, object, Record<string, unknown>]>([
  ['a schema that takes other keys', { ...inputSchema, additionalProperties: true }, { City: 'Rome' }],
  ['a schema without names', { type: 'object' }, { arguments: { a: 1 } }],
  ['no arguments', inputSchema, {}],
  ['further keys beside a known one', inputSchema, { city: 'Rome', note: 'x' }],
])('arguments stay as they are: %s', (_, schema, args) => {
  expect(fittingArguments({ name: 't', inputSchema: { ...schema } }, args)).toEqual({ ok: true, value: args })
})
