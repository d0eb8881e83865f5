import { expect, test } from 'vitest'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { decimalValue, jsonNumbers } from '../fixtures/json-numbers.ts'

const ID = '9007199254740993'
const ARGUMENTS = `{"id":${ID},"price":10.50,"rate":0.1234567890123456789,"huge":1e400,"in":[{"x":[1e-400]}]}`
const EXACT = {
  id: ID,
  price: 10.5,
  rate: '0.1234567890123456789',
  huge: '1e400',
  in: [{ x: ['1e-400'] }],
}

/** An edge whose tool notes its arguments, and answers them. */
function noting(script?: Parameters<typeof testEdge>[0]) {
  const got: object[] = []
  const note = tool('note', (args) => {
    got.push(args)
    return 'noted'
  })
  return { got, edge: testEdge({ ...script, tools: [note] }) }
}

const json = { 'content-type': 'application/json' }

test('POST /tools/{name}/call passes numbers exactly', async () => {
  const { got, edge } = noting()
  const body = `{"arguments":${ARGUMENTS}}`
  expect((await edge.ask('/tools/note/call', { method: 'POST', headers: json, body })).status).toBe(200)
  expect(got).toEqual([EXACT])
})

test('/mcp passes numbers exactly', async () => {
  const { got, edge } = noting()
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":${ARGUMENTS}}}`
  const headers = { ...json, accept: 'application/json, text/event-stream' }
  expect((await edge.ask('/mcp', { method: 'POST', headers, body })).status).toBe(200)
  expect(got).toEqual([EXACT])
})

test('a call of a model passes numbers exactly', async () => {
  const { got, edge } = noting({ script: [ask(['note', ARGUMENTS]), say('Done.')] })
  expect((await edge.ask('/runs', { json: { input: 'Note it.' } })).status).toBe(200)
  expect(got).toEqual([EXACT])
})

test('a setting of the model may have any number of digits', async () => {
  const { edge } = noting({ script: [say('Hello.')] })
  const body = '{"temperature":0.69999999999999996,"messages":[{"role":"user","content":"Hi"}]}'
  expect((await edge.ask('/v1/chat/completions', { method: 'POST', headers: json, body })).status).toBe(200)
  expect(edge.requests).toMatchObject([{ sampling: { temperature: 0.7 } }])
})

const NUMBERS = jsonNumbers(10_000)

/** Returns 10,000 numbers as arguments, nested and as values of keys. */
function manyArguments(): string {
  return `{"list":[${NUMBERS.map((number, index) => (index % 2 === 0 ? number : `{"n${index}":[${number}]}`)).join(',')}]}`
}

/** Returns the numbers of which a tool got other ones, as a number or as digits. */
function changes(got: readonly object[]): readonly string[] {
  const list: unknown[] = Object.values(got[0] ?? {})[0] ?? []
  const values = list.map((each) => String(typeof each === 'object' ? Object.values(Object(each)).flat()[0] : each))
  return NUMBERS.filter((number, index) => decimalValue(values[index] ?? 'none') !== decimalValue(number))
}

test('of 10,000 numbers, none is changed on the way to a tool', async () => {
  const direct = noting()
  const body = `{"arguments":${manyArguments()}}`
  await direct.edge.ask('/tools/note/call', { method: 'POST', headers: json, body })
  expect(changes(direct.got)).toEqual([])
  const mcp = noting()
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":${manyArguments()}}}`
  const headers = { ...json, accept: 'application/json, text/event-stream' }
  await mcp.edge.ask('/mcp', { method: 'POST', headers, body: call })
  expect(changes(mcp.got)).toEqual([])
  const model = noting({ script: [ask(['note', manyArguments()]), say('Done.')] })
  await model.edge.ask('/runs', { json: { input: 'Note it.' } })
  expect(changes(model.got)).toEqual([])
})
