import { expect, test } from 'vitest'
import { exampleQuestion } from '../../../src/cli/dev/dev.ts'
import type { ListedTool } from '../../../src/cli/listing.ts'

function toolOf(name: string, more: Partial<ListedTool> = {}): ListedTool {
  return { name, source: 'service', place: 'TOOL_X', available: true, ...more }
}

const GREETING = toolOf('greeting', {
  annotations: { readOnly: true },
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Name of the person, such as Ada' } },
    required: ['name'],
  },
})

test('the example question is one that a tool of the edge can answer', () => {
  expect(exampleQuestion([toolOf('currentTime'), GREETING])).toEqual({
    text: 'What time is it in Tokyo?',
    isFree: true,
  })
  expect(exampleQuestion([toolOf('currentTime', { available: false }), GREETING])).toEqual({
    text: 'Greeting with name Ada',
    isFree: true,
  })
  const stored = toolOf('exchangeRate', { offered: false })
  expect(exampleQuestion([stored, GREETING])).toEqual({ text: 'Greeting with name Ada', isFree: true })
  expect(exampleQuestion([])).toEqual({ text: 'What can you do?', isFree: false })
})

test('the example has a value for each required argument, and a tool with effects is not called by it unasked', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      count: { type: 'integer' },
      unit: { enum: ['km', 'miles'] },
      place: { type: 'string', description: 'Where, such as "New York"' },
      isFast: { type: 'boolean' },
      note: { type: 'string' },
    },
    required: ['count', 'unit', 'place', 'isFast'],
  }
  expect(exampleQuestion([toolOf('book_trip', { inputSchema })])).toEqual({
    text: 'Book trip with count 2 and unit km and place New York and is fast true',
    isFree: false,
  })
})
