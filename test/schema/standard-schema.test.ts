import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { defineTool } from 'edgecall/tool'
import type { InputSchema, StandardResult } from '../../src/schema/standard-schema.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { text } from '../host/source/calls.ts'

/** A schema of a library that this kit knows nothing of. */
function foreign(validate: (value: unknown) => StandardResult<{ n: number }> | Promise<StandardResult<{ n: number }>>) {
  const schema: InputSchema<{ n: number }> = {
    '~standard': {
      version: 1,
      vendor: 'foreign',
      validate,
      jsonSchema: {
        input: ({ target }) => ({
          $schema: `https://json-schema.org/${target}`,
          type: 'object',
          properties: { n: { type: 'integer' } },
          required: ['n'],
        }),
      },
    },
  }
  return defineTool({ name: 'x', description: 'X.', input: schema, run: ({ n }) => `${n + 1}` })
}

test('any schema that validates and converts to JSON Schema defines a tool', async () => {
  const tool = foreign(async (value) => {
    const n = Reflect.get(Object(value), 'n')
    return typeof n === 'number'
      ? { value: { n } }
      : { issues: [{ message: 'Invalid input: expected number', path: [{ key: 'n' }] }, { message: 'Look again' }] }
  })
  expect(tool.outline.inputSchema).toEqual({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
  expect(await tool.call({ n: 1 }, CONTEXT)).toEqual(text('2'))
  expect(await tool.call({ n: '5.0' }, CONTEXT)).toEqual(text('6'))
  expect(await tool.call({ n: 'five' }, CONTEXT)).toEqual({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message:
        'The arguments of "x" do not fit:\n- n: Invalid input: expected number\n- arguments: Look again\n' +
        'Correct them and call again.',
    },
  })
})

test('a Standard JSON Schema of Valibot is accepted like any other', async () => {
  const input = toStandardJsonSchema(v.object({ a: v.optional(v.number()) }))
  const tool = defineTool({ name: 'x', description: 'X.', input, run: ({ a }) => `${a}` })
  expect(await tool.call({ a: '5' }, CONTEXT)).toEqual(text('5'))
  expect(await tool.call({ a: null }, CONTEXT)).toEqual(text('undefined'))
})

test('a library without JSON Schema, or whose conversion throws, is refused at once', () => {
  const silent: InputSchema = { '~standard': { version: 1, vendor: 'old', validate: (value) => ({ value }) } }
  expect(() => defineTool({ name: 'x', description: 'X.', input: silent, run: () => '' })).toThrow(
    new TypeError(
      'Tool "x": input has no JSON Schema: old does not give it: use a version of it that implements Standard JSON ' +
        'Schema, or `jsonSchema(…)`.',
    ),
  )
  const input = () => {
    throw new Error('Date cannot be represented')
  }
  const throwing: InputSchema = { '~standard': { ...silent['~standard'], jsonSchema: { input } } }
  expect(() => defineTool({ name: 'x', description: 'X.', input: throwing, run: () => '' })).toThrow(
    'Tool "x": input has no JSON Schema: Date cannot be represented',
  )
})
