import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { descriptionProblems, offerProblems } from '../../../src/cli/check/descriptions.ts'

const NO_FIELDS = { type: 'object', properties: {} }

interface ToolText {
  readonly name: string
  readonly description: string
  readonly inputSchema?: object
  readonly inputExamples?: readonly JsonObject[]
}

async function messagesOf(...tools: readonly ToolText[]) {
  const problems = await descriptionProblems(
    tools.map(({ inputSchema = NO_FIELDS, ...tool }) => ({
      file: `${tool.name}.ts`,
      tool: { ...tool, inputSchema: inputSchema as never, hash: tool.name },
    })),
  )
  return problems.map(({ file, message }) => `${file}: ${message}`)
}

test('a tool without a description, or one that repeats its name, is reported', async () => {
  expect(
    await messagesOf(
      { name: 'a', description: ' ' },
      { name: 'orderStatus', description: 'The order status tool.' },
      { name: 'webSearch', description: 'Use it when the user wants news from the web.' },
    ),
  ).toEqual([
    'a.ts: a has no description.',
    'orderStatus.ts: The description of orderStatus says no more than its name.',
  ])
})

test('an example that does not fit the schema of its tool is reported, with its place', async () => {
  const inputSchema = { type: 'object', properties: { day: { type: 'string', description: 'The day.' } } }
  const description = 'Books a room. Use it when the user wants to meet.'
  const inputExamples = [{ day: '2026-03-01' }, { day: 1 }]
  expect(await messagesOf({ name: 'book', description, inputSchema, inputExamples })).toEqual([
    'book.ts: inputExamples.1.day of book does not fit its inputSchema: expected string, received 1.',
  ])
})

test('an English description that does not say when to use the tool is reported, whatever words others use for it', async () => {
  expect(
    await messagesOf(
      { name: 'rates', description: 'Returns the rates of exchange.' },
      { name: 'mails', description: 'Sends a mail. Use this to write to a customer.' },
      { name: 'alarm', description: 'Sets an alarm, whenever the user wants to be woken.' },
      { name: 'wetter', description: 'Liefert das Wetter einer Stadt, wenn jemand danach fragt.' },
    ),
  ).toEqual(['rates.ts: The description of rates does not say when to use it.'])
})

test('a name that two tools have, and a description of 100 kB, are reported', async () => {
  const description = `Use it when it rains. ${'Very much so. '.repeat(7_300)}`
  const tool = (name: string, text: string) => ({
    ...{ name, description: text, inputSchema: NO_FIELDS, hash: '' },
  })
  const tools = [
    { file: 'tools/one/index.ts', tool: tool('rain', description) },
    { file: 'tools/copy/index.ts', tool: tool('rain', 'Use it when it rains.') },
    { file: 'tools/copy/index.ts', tool: tool('snow', `Use it when it snows.${' '.repeat(1003)}`) },
  ]
  expect(offerProblems(tools)).toEqual([
    {
      file: 'tools/copy/index.ts',
      message: 'The tool "rain" is in tools/one/index.ts too: calls reach one of them, or none if they differ.',
      remedy: 'Give one of them another name, or remove it.',
    },
    {
      file: 'tools/one/index.ts',
      message: 'The description of rain has 102,222 characters, which every request sends to the model.',
      remedy: 'Say it in 1,024 at most, which all providers accept.',
    },
  ])
})

test('required arguments need a description, unless their values explain themselves', async () => {
  const inputSchema = {
    type: 'object',
    properties: {
      id: { type: 'string' },
      unit: { enum: ['C', 'F'] },
      city: { type: 'string', description: 'A city.' },
      note: { type: 'string' },
    },
    required: ['id', 'unit', 'city'],
  }
  expect(await messagesOf({ name: 'forecast', description: 'Use it when it may rain.', inputSchema })).toEqual([
    'forecast.ts: forecast requires id without a description.',
  ])
})

test('two tools whose descriptions find each other are reported once', async () => {
  const tools = [
    { name: 'getOrder', description: 'Looks up an order by its number. Use it when the user asks where an order is.' },
    { name: 'findOrder', description: 'Finds an order by its number. Use it when the user asks about an order.' },
    { name: 'cancelBooking', description: 'Cancels the booking of a room. Use it when plans have changed.' },
    { name: 'forecast', description: 'Returns the weather of a city. Use it when the user plans to go out.' },
  ]
  expect(await messagesOf(...tools)).toEqual([
    'findOrder.ts: A question may confuse findOrder and getOrder: their descriptions say nearly the same.',
  ])
})
