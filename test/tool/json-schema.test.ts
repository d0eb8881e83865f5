import { describe, expect, test } from 'vitest'
import { defineTool } from '../../src/tool/define.ts'
import { defineRawTool, jsonSchema, type RawDefinition } from '../../src/tool/json-schema.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { text } from '../host/source/calls.ts'

const inputSchema = {
  type: 'object',
  properties: { to: { type: 'string', minLength: 2 }, copies: { type: 'integer', minimum: 1 } },
  required: ['to'],
  additionalProperties: false,
}

describe('jsonSchema', () => {
  test('defines a tool like any other schema', async () => {
    const input = jsonSchema<{ to: string; copies?: number }>(inputSchema)
    const tool = defineTool({
      name: 'send',
      description: 'Sends.',
      input,
      run: ({ to, copies = 1 }) => to.repeat(copies),
    })
    expect(tool.outline.inputSchema).toEqual(inputSchema)
    expect(await tool.call({ to: 'ab', copies: '2' }, CONTEXT)).toEqual(text('abab'))
    expect(await tool.call({ to: 'a', copies: 0, more: 1 }, CONTEXT)).toEqual({
      ok: false,
      error: {
        code: 'invalid_arguments',
        message:
          'The arguments of "send" do not fit:\n- to: expected at least 2 characters, received "a"\n' +
          '- copies: expected at least 1, received 0\n- more: expected nothing here, received 1\n' +
          'Correct them and call again.',
      },
    })
  })

  test('is refused at once if it is invalid', () => {
    expect(() => jsonSchema({ type: 'object', properties: { a: { type: 'text' } }, required: 'a' })).toThrow(
      new TypeError(
        'Invalid JSON Schema: required: expected a list of names, received "a"; properties.a.type: expected one of ' +
          'string, number, integer, boolean, object, array, null, or a list of them, received "text"',
      ),
    )
  })
})

describe('defineRawTool', () => {
  const rows: RawDefinition[] = [
    {
      name: 'mail.send',
      description: 'Sends a mail.',
      inputSchema,
      annotations: { destructive: true },
      tags: ['mail'],
    },
    { name: 'ping', title: 'Is it there?' },
    {
      name: 'sum',
      description: ' ',
      inputSchema: { type: 'array', items: { type: 'number' } },
      outputSchema: { type: 'object' },
    },
  ]

  test('runs the calls of all definitions in one function, which receives the definition', async () => {
    const tools = rows.map((row) => defineRawTool(row, (input, { callId }, { name }) => ({ name, input, callId })))
    expect(tools.map(({ outline }) => outline)).toEqual([
      {
        name: 'mail_x2e_send',
        title: 'mail.send',
        description: 'Sends a mail.',
        inputSchema,
        annotations: { destructive: true },
        tags: ['mail'],
        version: '1',
      },
      {
        name: 'ping',
        title: 'Is it there?',
        description: 'Is it there?',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        annotations: {},
        version: '1',
      },
      {
        name: 'sum',
        description: 'sum',
        inputSchema: {
          type: 'object',
          properties: { input: { type: 'array', items: { type: 'number' } } },
          required: ['input'],
        },
        outputSchema: { type: 'object' },
        annotations: {},
        version: '1',
      },
    ])
    const [send, ping, sum] = tools
    expect(await send?.call({ to: 'Ada' }, CONTEXT)).toMatchObject({
      structured: { name: 'mail.send', input: { to: 'Ada' }, callId: 'call_1' },
    })
    expect(await ping?.call({}, CONTEXT)).toMatchObject({ structured: { name: 'ping', input: {} } })
    expect(await ping?.call({ a: 1 }, CONTEXT)).toMatchObject({ error: { code: 'invalid_arguments' } })
    expect(await sum?.call({ input: ['1', 2] }, CONTEXT)).toMatchObject({ structured: { input: [1, 2] } })
  })

  test('accepts the other fields of a tool', async () => {
    const tool = defineRawTool({ name: 'x' }, () => 5, {
      result: (value) => `${String(value)} pieces`,
      status: () => 'absent',
      undo: () => 'undone',
    })
    expect(await tool.call({}, CONTEXT)).toEqual(text('5 pieces'))
    expect(await tool.status?.({}, CONTEXT)).toBe('absent')
    expect(await tool.undo?.({}, { ok: true, content: [] }, CONTEXT)).toEqual(text('undone'))
  })

  test('names the tool and the place of an unsound schema', () => {
    const run = () => ''
    expect(() => defineRawTool({ name: 'x', inputSchema: { properties: { a: 5 } } }, run)).toThrow(
      new TypeError('Tool "x": inputSchema: Invalid JSON Schema: properties.a: expected a schema, received 5'),
    )
    expect(() => defineRawTool({ name: 'x', outputSchema: { $ref: '#/none' } }, run)).toThrow(
      new TypeError(
        'Tool "x": outputSchema: Invalid JSON Schema: $ref: expected a reference to a schema of this document ' +
          '(#/…), received "#/none"',
      ),
    )
  })
})
